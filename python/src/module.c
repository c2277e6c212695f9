/*
 * module.c - the module gzlzss._core: its functions, and the list of its types
 */
#include "core.h"

/* Checks of fewer bytes than this keep the interpreter's lock. */
#define UNLOCK_MIN 4096

static PyObject *module_crc32(PyObject *module, PyObject *args)
{
    unsigned int crc = 0;
    Py_buffer data;

    (void)module;
    if (!PyArg_ParseTuple(args, "y*|I:crc32", &data, &crc))
        return NULL;
    if (data.len < UNLOCK_MIN) {
        crc = gzlzss_crc32(crc, data.buf, (size_t)data.len);
    } else {
        Py_BEGIN_ALLOW_THREADS crc = gzlzss_crc32(crc, data.buf, (size_t)data.len);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&data);
    return PyLong_FromUnsignedLong(crc);
}

static PyObject *module_crc32_combine(PyObject *module, PyObject *args)
{
    unsigned int first, second;
    unsigned long long len;
    PyObject *number;

    (void)module;
    if (!PyArg_ParseTuple(args, "IIO!:crc32_combine", &first, &second, &PyLong_Type, &number))
        return NULL;
    len = PyLong_AsUnsignedLongLong(number);
    if (PyErr_Occurred() != NULL)
        return NULL;
    return PyLong_FromUnsignedLong(gzlzss_crc32_combine(first, second, len));
}

static PyObject *module_check(PyObject *module, PyObject *args)
{
    int status;

    (void)module;
    if (!PyArg_ParseTuple(args, "i:check", &status))
        return NULL;
    if (status >= 0)
        Py_RETURN_NONE;
    return py_raise_status(status, NULL, 0);
}

PyTypeObject *py_add_type(PyObject *module, PyType_Spec *spec)
{
    PyObject *type = PyType_FromSpec(spec);
    const char *name = strrchr(spec->name, '.') + 1;

    if (type != NULL && PyObject_SetAttrString(module, name, type) != 0)
        Py_CLEAR(type);
    return (PyTypeObject *)type;
}

void py_free_object(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc free_memory = (freefunc)PyType_GetSlot(type, Py_tp_free);

    free_memory(self);
    Py_DECREF(type);
}

static PyMethodDef functions[] = {
    {"crc32", module_crc32, METH_VARARGS,
     PyDoc_STR(
         "crc32($module, data, value=0, /)\n--\n\nReturns the CRC-32 of what `value` is the CRC-32 "
         "of, followed by data.")},
    {"crc32_combine", module_crc32_combine, METH_VARARGS,
     PyDoc_STR("crc32_combine($module, first, second, second_len, /)\n--\n\nReturns the CRC-32 of "
               "two parts "
               "from the CRC-32 of each and the second's length.")},
    {"check", module_check, METH_VARARGS,
     PyDoc_STR(
         "check($module, status, /)\n--\n\nRaises the exception for a status that is an error.")},
    {"quicken", py_file_quicken, METH_O,
     PyDoc_STR(
         "quicken($module, type, /)\n--\n\nMakes read, readline and write of a class of files "
         "quick.")},
    {"set_main_thread", py_guard_set_main_thread, METH_O,
     PyDoc_STR(
         "set_main_thread($module, ident, /)\n--\n\nTells which thread runs Python's handlers of "
         "signals.")},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                        "gzlzss._core",
                                        PyDoc_STR("libgzlzss for Python"),
                                        -1,
                                        functions,
                                        NULL,
                                        NULL,
                                        NULL,
                                        NULL};

PyMODINIT_FUNC PyInit__core(void)
{
    PyObject *module = PyModule_Create(&definition);

    if (module == NULL)
        return NULL;
    if (!py_errors_init(module) || !py_crew_init(module) || !py_streams_init(module) ||
        !py_reader_init(module) || !py_cuda_init(module) || !py_decoder_init(module) ||
        !py_file_init() || PyModule_AddStringConstant(module, "version", gzlzss_version()) != 0) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
