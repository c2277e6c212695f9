/*
 * crew.c - an object of the library, and its calls for data in memory
 *
 * A call's output is bytes, whose size has to be known when they are made.  A small output goes to
 * memory on the heap first, and is copied.  A large one is decompressed straight into bytes if the
 * end of the input tells its size.
 */
#include "core.h"

#include <stdlib.h>
#include <string.h>

PyTypeObject *py_crew_type;

/* --- Making and freeing --------------------------------------------------------------------- */

/* Sets o->devices to the numbers in the sequence.  The caller frees them. */
static bool get_devices(PyObject *sequence, gzlzss_options *o, int **numbers)
{
    const Py_ssize_t count = sequence == Py_None ? 0 : PySequence_Size(sequence);

    *numbers = NULL;
    if (count <= 0)
        return count == 0;
    *numbers = calloc((size_t)count, sizeof(**numbers));
    if (*numbers == NULL) {
        PyErr_NoMemory();
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PySequence_GetItem(sequence, i);
        const long number = item != NULL ? PyLong_AsLong(item) : -1;

        Py_XDECREF(item);
        if (PyErr_Occurred() != NULL)
            return false;
        if (number < 0 || number > INT32_MAX) {
            PyErr_SetString(PyExc_ValueError, "a device's number is 0 or larger");
            return false;
        }
        (*numbers)[i] = (int)number;
    }
    o->devices = *numbers;
    o->device_count = (size_t)count;
    return true;
}

/* Makes the library's object; returns NULL with an exception. */
static gzlzss *new_object(const gzlzss_options *o)
{
    gzlzss_status status;
    gzlzss *z;

    Py_BEGIN_ALLOW_THREADS status = gzlzss_new(&z, o);
    Py_END_ALLOW_THREADS if (status != GZLZSS_OK) py_raise_status(status, NULL, 0);
    return z;
}

static PyObject *crew_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"format",    "level",   "threads", "backend", "segment_size",
                            "rsyncable", "devices", "matcher", "verify",  NULL};
    gzlzss_options o = GZLZSS_OPTIONS_INIT;
    int format = GZLZSS_GZIP, backend = GZLZSS_AUTO;
    Py_ssize_t segment_size = 0;
    PyObject *devices = Py_None;
    int *numbers = NULL;
    struct crew *self;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|iiiinpOzp:Crew", names, &format, &o.level,
                                     &o.threads, &backend, &segment_size, &o.rsyncable, &devices,
                                     &o.matcher, &o.verify))
        return NULL;
    if (segment_size < 0) {
        PyErr_SetString(PyExc_ValueError, "segment_size is negative");
        return NULL;
    }
    o.segment_size = (size_t)segment_size;
    o.skip_zeros = 1; /* as Python's gzip */
    o.format = (gzlzss_format)format;
    o.backend = (gzlzss_backend)backend;
    self = (struct crew *)PyType_GenericAlloc(type, 0);
    if (self == NULL)
        return NULL;
    self->format = o.format;
    if (get_devices(devices, &o, &numbers))
        self->z = new_object(&o);
    free(numbers);
    if (self->z == NULL)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void crew_dealloc(PyObject *object)
{
    struct crew *self = (struct crew *)object;

    /* Waits for threads, and for a GPU that is starting. */
    Py_BEGIN_ALLOW_THREADS gzlzss_free(self->z);
    Py_END_ALLOW_THREADS py_free_object(object);
}

bool py_copy_name(PyObject *name, char **copy)
{
    char *bytes;
    Py_ssize_t len;

    *copy = NULL;
    if (name == Py_None)
        return true;
    if (PyBytes_AsStringAndSize(name, &bytes, &len) != 0)
        return false;
    if (strlen(bytes) != (size_t)len) {
        PyErr_SetString(PyExc_ValueError, "the name has a zero byte");
        return false;
    }
    *copy = strdup(bytes);
    if (*copy == NULL)
        PyErr_NoMemory();
    return *copy != NULL;
}

/* --- A call --------------------------------------------------------------------------------- */

/* What a call of the library is to do, and what it has done. */
struct memory_call {
    gzlzss *z;
    gzlzss_call call;
    const void *in;
    size_t in_len;
    /* The output, and the bytes of room before the call; afterwards, the bytes of output. */
    void *out;
    size_t out_len;
    /* The most bytes of output that `limited` gives memory for, and whether more were wanted. */
    size_t most;
    bool is_over_most;
    gzlzss_status status;
};

static struct memory_call begin_call(gzlzss *z, const Py_buffer *in)
{
    return (struct memory_call){
        .z = z, .call = GZLZSS_CALL_INIT, .in = in->buf, .in_len = (size_t)in->len};
}

/* Does the work by py_guard_run.  Returns whether the status is GZLZSS_OK; else there is an
 * exception. */
static bool finish_call(struct memory_call *c, void (*work)(void *))
{
    if (!py_guard_run(c->z, &c->call, c->in_len, work, c))
        return false;
    if (c->status != GZLZSS_OK)
        py_raise_status(py_error_of(c->status, &c->call), c->z, c->call.error_number);
    return c->status == GZLZSS_OK;
}

static void compress_work(void *argument)
{
    struct memory_call *c = argument;

    c->status = gzlzss_compress(c->z, c->out, &c->out_len, c->in, c->in_len, &c->call);
}

static void compress_new_work(void *argument)
{
    struct memory_call *c = argument;

    c->status =
        gzlzss_compress_new(c->z, &c->out, &c->out_len, NULL, NULL, c->in, c->in_len, &c->call);
}

static void decompress_work(void *argument)
{
    struct memory_call *c = argument;

    c->status = gzlzss_decompress(c->z, c->out, &c->out_len, c->in, c->in_len, &c->call);
}

/* As realloc(), for at most c->most bytes. */
static void *limited(void *ctx, void *memory, size_t size)
{
    struct memory_call *c = ctx;

    if (size <= c->most)
        return realloc(memory, size);
    c->is_over_most = true;
    return NULL;
}

static void decompress_new_work(void *argument)
{
    struct memory_call *c = argument;

    c->status =
        gzlzss_decompress_new(c->z, &c->out, &c->out_len, limited, c, c->in, c->in_len, &c->call);
}

/* --- Compression ---------------------------------------------------------------------------- */

/* Inputs of at most this many bytes are compressed to memory that is large enough for any
 * output. */
#define BOUND_MAX ((size_t)128 << 10)

/* Compresses to new bytes.  Returns NULL with an exception. */
static PyObject *compress_to_bytes(struct memory_call *c)
{
    PyObject *result = NULL;
    bool ok;

    if (c->in_len > BOUND_MAX) {
        ok = finish_call(c, compress_new_work);
    } else {
        c->out_len = gzlzss_bound(c->z, c->in_len);
        if (c->call.name != NULL)
            c->out_len += 2 * strlen(c->call.name) + 2;
        c->out = malloc(c->out_len);
        if (c->out == NULL)
            return PyErr_NoMemory();
        ok = finish_call(c, compress_work);
    }
    if (ok)
        result = PyBytes_FromStringAndSize(c->out, (Py_ssize_t)c->out_len);
    free(c->out);
    return result;
}

static PyObject *crew_compress(PyObject *object, PyObject *args)
{
    struct crew *self = (struct crew *)object;
    PyObject *name = Py_None, *result = NULL;
    unsigned int mtime = 0;
    struct memory_call c;
    char *copy;
    Py_buffer in;

    if (!PyArg_ParseTuple(args, "y*|OI:compress", &in, &name, &mtime))
        return NULL;
    if (py_copy_name(name, &copy)) {
        c = begin_call(self->z, &in);
        c.call.name = copy;
        c.call.mtime = mtime;
        result = compress_to_bytes(&c);
        free(copy);
    }
    PyBuffer_Release(&in);
    return result;
}

/* compress_into and decompress_into: the output goes to a given buffer; returns its bytes. */
static PyObject *run_into(struct crew *self, PyObject *args, const char *format,
                          void (*work)(void *))
{
    PyObject *result = NULL;
    struct memory_call c;
    Py_buffer in, out;

    if (!PyArg_ParseTuple(args, format, &in, &out))
        return NULL;
    c = begin_call(self->z, &in);
    c.out = out.buf;
    c.out_len = (size_t)out.len;
    if (finish_call(&c, work))
        result = PyLong_FromSize_t(c.out_len);
    PyBuffer_Release(&in);
    PyBuffer_Release(&out);
    return result;
}

static PyObject *crew_compress_into(PyObject *self, PyObject *args)
{
    return run_into((struct crew *)self, args, "y*w*:compress_into", compress_work);
}

/* --- Decompression -------------------------------------------------------------------------- */

/* The first guess for the output of a small input: SMALL_RATIO times as much, and SMALL_MORE. */
#define SMALL_MAX ((size_t)64 << 10)
#define SMALL_RATIO 6
#define SMALL_MORE 512

/* The end of a .gz says how large its data is, modulo 2^32, if it has one member.  A number of more
 * than this many times the input's size is not believed. */
#define LIKELY_RATIO 64
#define GZIP_LEAST 18

/* Returns the size that the input's last bytes say, or SIZE_MAX if they say nothing likely. */
static size_t size_said(const struct crew *self, const Py_buffer *in)
{
    const size_t len = (size_t)in->len;
    const uint8_t *end = (const uint8_t *)in->buf + len;
    size_t said;

    if (len < GZIP_LEAST || self->format != GZLZSS_GZIP)
        return SIZE_MAX;
    said = end[-4] | (size_t)end[-3] << 8 | (size_t)end[-2] << 16 | (size_t)end[-1] << 24;
    return said / LIKELY_RATIO <= len ? said : SIZE_MAX;
}

/* Decompresses into memory that grows, and copies the output.  c->out may have been used. */
static PyObject *decompress_growing(struct memory_call *c)
{
    PyObject *result = NULL;

    c->most = PY_SSIZE_T_MAX;
    c->out = NULL;
    if (finish_call(c, decompress_new_work))
        result = PyBytes_FromStringAndSize(c->out, (Py_ssize_t)c->out_len);
    free(c->out);
    return result;
}

/* Decompresses into new bytes, which have `room` bytes.  Returns NULL with an exception, or without
 * one if the room is not enough. */
static PyObject *decompress_to_room(struct memory_call *c, size_t room)
{
    PyObject *made = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)room), *shorter;

    if (made == NULL) {
        PyErr_Clear();
        return NULL;
    }
    c->out = PyBytes_AsString(made);
    c->out_len = room;
    if (!py_guard_run(c->z, &c->call, c->in_len, decompress_work, c)) {
        Py_DECREF(made);
        return NULL;
    }
    if (c->status == GZLZSS_OK && c->out_len == room)
        return made;
    shorter = NULL;
    if (c->status == GZLZSS_OK)
        shorter = PyBytes_FromStringAndSize(c->out, (Py_ssize_t)c->out_len);
    else if (c->status != GZLZSS_ERROR_ROOM)
        py_raise_status(py_error_of(c->status, &c->call), c->z, c->call.error_number);
    Py_DECREF(made);
    return shorter;
}

static PyObject *crew_decompress(PyObject *object, PyObject *args)
{
    struct crew *self = (struct crew *)object;
    PyObject *result = NULL;
    struct memory_call c;
    Py_buffer in;
    size_t room;

    if (!PyArg_ParseTuple(args, "y*:decompress", &in))
        return NULL;
    c = begin_call(self->z, &in);
    room = size_said(self, &in);
    if (room == SIZE_MAX && c.in_len <= SMALL_MAX)
        room = c.in_len * SMALL_RATIO + SMALL_MORE;
    if (room != SIZE_MAX)
        result = decompress_to_room(&c, room);
    if (result == NULL && PyErr_Occurred() == NULL)
        result = decompress_growing(&c);
    PyBuffer_Release(&in);
    return result;
}

static PyObject *crew_decompress_into(PyObject *self, PyObject *args)
{
    return run_into((struct crew *)self, args, "y*w*:decompress_into", decompress_work);
}

/* Returns (bytes, status): what could be decompressed before an error, and that error or 0.  The
 * result is None if the output has more than `most` bytes. */
static PyObject *crew_decompress_some(PyObject *object, PyObject *args)
{
    struct crew *self = (struct crew *)object;
    PyObject *result = NULL;
    struct memory_call c;
    Py_ssize_t most;
    Py_buffer in;

    if (!PyArg_ParseTuple(args, "y*n:decompress_some", &in, &most))
        return NULL;
    c = begin_call(self->z, &in);
    c.most = most > 0 ? (size_t)most : 0;
    if (py_guard_run(c.z, &c.call, c.in_len, decompress_new_work, &c)) {
        if (c.is_over_most)
            result = Py_NewRef(Py_None);
        else
            result = Py_BuildValue("y#i", c.out != NULL ? c.out : "", (Py_ssize_t)c.out_len,
                                   py_error_of(c.status, &c.call));
    }
    free(c.out);
    PyBuffer_Release(&in);
    return result;
}

/* --- Ranges --------------------------------------------------------------------------------- */

struct range_call {
    struct memory_call c;
    int is_last;
    uint32_t check;
};

static void range_work(void *argument)
{
    struct range_call *r = argument;
    struct memory_call *c = &r->c;

    c->status = gzlzss_compress_range(c->z, c->out, &c->out_len, c->in, c->in_len, r->is_last,
                                      &r->check, &c->call);
}

static PyObject *crew_compress_range(PyObject *object, PyObject *args)
{
    struct crew *self = (struct crew *)object;
    PyObject *result = NULL;
    struct range_call r = {.is_last = 0};
    Py_buffer in;
    int is_last;

    if (!PyArg_ParseTuple(args, "y*p:compress_range", &in, &is_last))
        return NULL;
    r.c = begin_call(self->z, &in);
    r.is_last = is_last;
    r.c.out_len = gzlzss_bound(self->z, r.c.in_len);
    r.c.out = malloc(r.c.out_len);
    if (r.c.out == NULL)
        PyErr_NoMemory();
    else if (py_guard_run(self->z, &r.c.call, r.c.in_len, range_work, &r)) {
        if (r.c.status == GZLZSS_OK)
            result = Py_BuildValue("y#I", r.c.out, (Py_ssize_t)r.c.out_len, r.check);
        else
            py_raise_status(r.c.status, self->z, 0);
    }
    free(r.c.out);
    PyBuffer_Release(&in);
    return result;
}

static PyObject *crew_header(PyObject *object, PyObject *args)
{
    struct crew *self = (struct crew *)object;
    gzlzss_call call = GZLZSS_CALL_INIT;
    PyObject *name = Py_None, *result = NULL;
    unsigned int mtime = 0;
    gzlzss_status status;
    char *copy, *out;
    size_t len = 32;

    if (!PyArg_ParseTuple(args, "|OI:header", &name, &mtime) || !py_copy_name(name, &copy))
        return NULL;
    call.name = copy;
    call.mtime = mtime;
    len += copy != NULL ? strlen(copy) : 0;
    out = malloc(len);
    status = out != NULL ? gzlzss_header(self->z, out, &len, &call) : GZLZSS_ERROR_MEMORY;
    if (status == GZLZSS_OK)
        result = PyBytes_FromStringAndSize(out, (Py_ssize_t)len);
    else
        py_raise_status(status, self->z, 0);
    free(out);
    free(copy);
    return result;
}

static PyObject *crew_end(PyObject *object, PyObject *args)
{
    struct crew *self = (struct crew *)object;
    unsigned long long in_len;
    gzlzss_status status;
    unsigned int check;
    char out[32];
    size_t len = sizeof(out);

    if (!PyArg_ParseTuple(args, "IK:end", &check, &in_len))
        return NULL;
    status = gzlzss_end(self->z, out, &len, check, in_len);
    if (status != GZLZSS_OK)
        return py_raise_status(status, self->z, 0);
    return PyBytes_FromStringAndSize(out, (Py_ssize_t)len);
}

static PyObject *crew_check_combine(PyObject *object, PyObject *args)
{
    struct crew *self = (struct crew *)object;
    unsigned long long len;
    unsigned int a, b;

    if (!PyArg_ParseTuple(args, "IIK:check_combine", &a, &b, &len))
        return NULL;
    return PyLong_FromUnsignedLong(gzlzss_check_combine(self->z, a, b, len));
}

/* --- The type ------------------------------------------------------------------------------- */

static PyObject *crew_no_gpu(PyObject *object, PyObject *unused)
{
    char why[256];

    (void)unused;
    gzlzss_no_gpu(((struct crew *)object)->z, why, sizeof(why));
    return PyUnicode_DecodeUTF8(why, (Py_ssize_t)strlen(why), "replace");
}

static PyObject *crew_cancel(PyObject *object, PyObject *unused)
{
    (void)unused;
    gzlzss_cancel(((struct crew *)object)->z, NULL);
    Py_RETURN_NONE;
}

static PyObject *crew_segment_size(PyObject *object, void *unused)
{
    (void)unused;
    return PyLong_FromSize_t(gzlzss_segment_size(((struct crew *)object)->z));
}

static PyMethodDef methods[] = {
    {"compress", crew_compress, METH_VARARGS,
     PyDoc_STR("compress($self, data, name=None, mtime=0, /)\n--\n\nReturns data compressed.")},
    {"compress_into", crew_compress_into, METH_VARARGS,
     PyDoc_STR(
         "compress_into($self, data, out, /)\n--\n\nCompresses to out; returns the bytes used.")},
    {"compress_range", crew_compress_range, METH_VARARGS,
     PyDoc_STR(
         "compress_range($self, data, is_last, /)\n--\n\nCompresses some segments of an input; "
         "returns the bytes and data's check value.")},
    {"header", crew_header, METH_VARARGS,
     PyDoc_STR("header($self, name=None, mtime=0, /)\n--\n\nReturns what stands before the first "
               "range.")},
    {"end", crew_end, METH_VARARGS,
     PyDoc_STR("end($self, check, size, /)\n--\n\nReturns what stands after the last range.")},
    {"check_combine", crew_check_combine, METH_VARARGS,
     PyDoc_STR(
         "check_combine($self, first, second, second_len, /)\n--\n\nReturns the check value of two "
         "ranges.")},
    {"decompress", crew_decompress, METH_VARARGS,
     PyDoc_STR("decompress($self, data, /)\n--\n\nReturns data decompressed.")},
    {"decompress_into", crew_decompress_into, METH_VARARGS,
     PyDoc_STR("decompress_into($self, data, out, /)\n--\n\nDecompresses to out; returns the bytes "
               "used.")},
    {"decompress_some", crew_decompress_some, METH_VARARGS,
     PyDoc_STR(
         "decompress_some($self, data, most, /)\n--\n\nReturns the output before the first error "
         "and the error's number, or None if there are more than `most` bytes.")},
    {"no_gpu", crew_no_gpu, METH_NOARGS,
     PyDoc_STR("no_gpu($self, /)\n--\n\nReturns the reason why no GPU works, or an empty string.")},
    {"cancel", crew_cancel, METH_NOARGS,
     PyDoc_STR("cancel($self, /)\n--\n\nEnds all calls that are under way.")},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef properties[] = {
    {"segment_size", crew_segment_size, NULL, PyDoc_STR("bytes of a segment"), NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, (void *)crew_new},
    {Py_tp_dealloc, (void *)crew_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {Py_tp_doc, (void *)PyDoc_STR("threads, and GPUs, that compress and decompress")},
    {0, NULL},
};

static PyType_Spec spec = {.name = "gzlzss._core.Crew",
                           .basicsize = sizeof(struct crew),
                           .flags = Py_TPFLAGS_DEFAULT,
                           .slots = slots};

bool py_crew_init(PyObject *module)
{
    py_crew_type = py_add_type(module, &spec);
    return py_crew_type != NULL;
}
