/*
 * cuda.c - data in a GPU's memory, by its address (include/gzlzss_cuda.h)
 *
 * gzlzss/_arrays.py finds out the addresses of arrays, and keeps the arrays while a call runs.  The
 * calls run in the calling thread, whose current device counts.
 */
#include "core.h"

#include <errno.h>
#include <gzlzss_cuda.h>
#include <stdlib.h>

/* --- Compression ---------------------------------------------------------------------------- */

/* Returns the memory at an address; Python checks nothing. */
static void *at(unsigned long long address)
{
    return (void *)(uintptr_t)address;
}

static PyObject *cuda_compress(PyObject *module, PyObject *args)
{
    unsigned long long address, size, stream;
    PyObject *crew, *result = NULL;
    gzlzss_status status;
    size_t len;
    gzlzss *z;
    void *out;

    (void)module;
    if (!PyArg_ParseTuple(args, "O!KKK:cuda_compress", py_crew_type, &crew, &address, &size,
                          &stream))
        return NULL;
    z = ((struct crew *)crew)->z;
    len = gzlzss_bound(z, size);
    out = len < SIZE_MAX ? malloc(len) : NULL;
    if (out == NULL)
        return PyErr_NoMemory();
    Py_BEGIN_ALLOW_THREADS status =
        gzlzss_cuda_compress(z, out, &len, at(address), size, at(stream), NULL);
    Py_END_ALLOW_THREADS if (status == GZLZSS_OK) result =
        PyBytes_FromStringAndSize(out, (Py_ssize_t)len);
    else py_raise_status(status, z, EIO);
    free(out);
    return result;
}

/* --- Decompression -------------------------------------------------------------------------- */

static PyObject *cuda_decompress(PyObject *module, PyObject *args)
{
    unsigned long long in, in_size, out, out_size, stream;
    gzlzss_status status;
    PyObject *crew;
    size_t len;
    gzlzss *z;

    (void)module;
    if (!PyArg_ParseTuple(args, "O!KKKKK:cuda_decompress", py_crew_type, &crew, &in, &in_size, &out,
                          &out_size, &stream))
        return NULL;
    z = ((struct crew *)crew)->z;
    len = out_size;
    Py_BEGIN_ALLOW_THREADS status =
        gzlzss_cuda_decompress(z, at(out), &len, at(in), in_size, at(stream), NULL);
    Py_END_ALLOW_THREADS if (status != GZLZSS_OK) return py_raise_status(status, z, EIO);
    return PyLong_FromSize_t(len);
}

/* Calls the Python function `ctx`, which returns the address of memory for `size` bytes.  An
 * exception stays set, and makes the library's call end. */
static void *allocate(void *ctx, size_t size)
{
    const PyGILState_STATE state = PyGILState_Ensure();
    PyObject *address =
        PyErr_Occurred() == NULL ? PyObject_CallFunction(ctx, "n", (Py_ssize_t)size) : NULL;
    const unsigned long long number = address != NULL ? PyLong_AsUnsignedLongLong(address) : 0;
    void *memory = PyErr_Occurred() == NULL ? at(number) : NULL;

    Py_XDECREF(address);
    PyGILState_Release(state);
    return memory;
}

static PyObject *cuda_decompress_new(PyObject *module, PyObject *args)
{
    unsigned long long in, in_size, stream;
    PyObject *crew, *function;
    gzlzss_status status;
    size_t len;
    void *out;
    gzlzss *z;

    (void)module;
    if (!PyArg_ParseTuple(args, "O!KKKO:cuda_decompress_new", py_crew_type, &crew, &in, &in_size,
                          &stream, &function))
        return NULL;
    z = ((struct crew *)crew)->z;
    Py_BEGIN_ALLOW_THREADS status = gzlzss_cuda_decompress_new(z, &out, &len, allocate, function,
                                                               at(in), in_size, at(stream), NULL);
    Py_END_ALLOW_THREADS if (PyErr_Occurred() != NULL) return NULL;
    if (status != GZLZSS_OK)
        return py_raise_status(status, z, EIO);
    return PyLong_FromSize_t(len);
}

/* --- DLPack --------------------------------------------------------------------------------- */

/* The start of the structs of DLPack (dlpack.h, version 0.8), which is stable. */
struct dl_tensor {
    void *data;
    struct {
        int32_t type, id;
    } device;
    int32_t ndim;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } type;
    int64_t *shape, *strides;
    uint64_t byte_offset;
};

/* Computes the tensor's bytes.  Returns false if they do not lie one after another, or are too
 * many. */
static bool tensor_size(const struct dl_tensor *t, uint64_t *size)
{
    uint64_t items = 1;

    for (int32_t i = t->ndim - 1; i >= 0; i--) {
        const uint64_t n = (uint64_t)t->shape[i];

        if (t->shape[i] < 0 || (n > 0 && items > (uint64_t)PY_SSIZE_T_MAX / n))
            return false;
        if (t->strides != NULL && n > 1 && t->strides[i] != (int64_t)items)
            return false;
        items *= n;
    }
    *size = items * t->type.bits * t->type.lanes / 8;
    return *size <= (uint64_t)PY_SSIZE_T_MAX;
}

/* Returns (address, size, device type, device number) of the tensor in a capsule, which stays the
 * tensor's owner. */
static PyObject *dlpack_memory(PyObject *module, PyObject *capsule)
{
    const struct dl_tensor *t = PyCapsule_GetPointer(capsule, "dltensor");
    uint64_t size;

    (void)module;
    if (t == NULL)
        return NULL;
    if (!tensor_size(t, &size)) {
        PyErr_SetString(PyExc_BufferError, "the array is not contiguous");
        return NULL;
    }
    return Py_BuildValue("KKii", (unsigned long long)((uintptr_t)t->data + t->byte_offset),
                         (unsigned long long)size, (int)t->device.type, (int)t->device.id);
}

static PyMethodDef functions[] = {
    {"cuda_compress", cuda_compress, METH_VARARGS,
     PyDoc_STR(
         "cuda_compress($module, crew, address, size, stream, /)\n--\n\nReturns data compressed.")},
    {"cuda_decompress", cuda_decompress, METH_VARARGS,
     PyDoc_STR(
         "cuda_decompress($module, crew, in, in_size, out, out_size, stream, /)\n--\n\nReturns the "
         "bytes of output.")},
    {"cuda_decompress_new", cuda_decompress_new, METH_VARARGS,
     PyDoc_STR("cuda_decompress_new($module, crew, in, in_size, stream, allocate, "
               "/)\n--\n\nDecompresses to "
               "the address that allocate(size) returns; returns the bytes of output.")},
    {"dlpack_memory", dlpack_memory, METH_O,
     PyDoc_STR(
         "dlpack_memory($module, capsule, /)\n--\n\nReturns address, size, device type and device "
         "number.")},
    {NULL, NULL, 0, NULL},
};

bool py_cuda_init(PyObject *module)
{
    return PyModule_AddFunctions(module, functions) == 0;
}
