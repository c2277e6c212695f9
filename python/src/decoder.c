/*
 * decoder.c - Decoder: the library's decoder for one stream, with the methods of the object that
 * zlib.decompressobj returns
 *
 * A decoder has no thread, so it works after fork(), too.  It has a lock, as several threads may
 * call its methods.  Where zlib has an oddity that programs can see, this has it, too: flush()
 * raises no error about the data.
 */
#include "core.h"

#include <stdatomic.h>
#include <stdlib.h>

struct decoder {
    PyObject_HEAD gzlzss_decoder *d;
    PyThread_type_lock lock;
    PyObject *dictionary; /* bytes, or NULL */
    PyObject *unused_data, *unconsumed_tail;
    bool eof;
    /* flush() has reached the end, or was called after it.  Then zlib's object has no stream any
     * more: it cannot be copied, decompress() fails, and flush() does nothing. */
    bool is_flushed;
    /* All input and output so far, by which the size of the next output is guessed. */
    size_t in_len, out_len;
};

/* The exception zlib.error. */
static PyObject *zlib_error;

/* --- Making and freeing --------------------------------------------------------------------- */

/* Makes an object without a decoder of the library.  Returns NULL with an exception. */
static struct decoder *allocate(PyTypeObject *type)
{
    struct decoder *self = (struct decoder *)PyType_GenericAlloc(type, 0);

    if (self == NULL)
        return NULL;
    self->unused_data = PyBytes_FromStringAndSize(NULL, 0);
    self->unconsumed_tail = PyBytes_FromStringAndSize(NULL, 0);
    self->lock = PyThread_allocate_lock();
    if (self->unused_data != NULL && self->unconsumed_tail != NULL && self->lock != NULL)
        return self;
    Py_DECREF(self);
    return (struct decoder *)PyErr_NoMemory();
}

/* Copies the dictionary, a buffer; an empty one is none.  DEFLATE alone gets it at once.  Returns
 * false with an exception. */
static bool set_dictionary(struct decoder *self, PyObject *dictionary, bool is_raw)
{
    if (!PyObject_CheckBuffer(dictionary)) {
        PyErr_SetString(PyExc_TypeError, "zdict argument must support the buffer protocol");
        return false;
    }
    self->dictionary = PyBytes_FromObject(dictionary);
    if (self->dictionary == NULL)
        return false;
    if (PyBytes_Size(self->dictionary) == 0) {
        Py_CLEAR(self->dictionary);
        return true;
    }
    if (is_raw && gzlzss_decoder_dictionary(self->d, PyBytes_AsString(self->dictionary),
                                            (size_t)PyBytes_Size(self->dictionary)) != GZLZSS_OK) {
        PyErr_NoMemory();
        return false;
    }
    return true;
}

static PyObject *decoder_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"wbits", "zdict", NULL};
    PyObject *dictionary = NULL;
    struct decoder *self;
    gzlzss_status status;
    int wbits = 15;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|iO:decompressobj", names, &wbits, &dictionary))
        return NULL;
    self = allocate(type);
    if (self == NULL)
        return NULL;
    status = gzlzss_decoder_new(&self->d, wbits);
    if (status == GZLZSS_OK && (dictionary == NULL || set_dictionary(self, dictionary, wbits < 0)))
        return (PyObject *)self;
    if (status == GZLZSS_ERROR_ARGUMENT)
        PyErr_SetString(PyExc_ValueError, "Invalid initialization option");
    else if (status != GZLZSS_OK)
        PyErr_NoMemory();
    Py_DECREF(self);
    return NULL;
}

static void decoder_dealloc(PyObject *object)
{
    struct decoder *self = (struct decoder *)object;

    gzlzss_decoder_free(self->d);
    if (self->lock != NULL)
        PyThread_free_lock(self->lock);
    Py_XDECREF(self->dictionary);
    Py_XDECREF(self->unused_data);
    Py_XDECREF(self->unconsumed_tail);
    py_free_object(object);
}

static void take(struct decoder *self)
{
    if (PyThread_acquire_lock(self->lock, NOWAIT_LOCK))
        return;
    Py_BEGIN_ALLOW_THREADS PyThread_acquire_lock(self->lock, WAIT_LOCK);
    Py_END_ALLOW_THREADS
}

static void leave(struct decoder *self)
{
    PyThread_release_lock(self->lock);
}

/* --- Output --------------------------------------------------------------------------------- */

/* The first guess for an output, and the least memory for one. */
#define FIRST_RATIO 4
#define LEAST_ROOM ((size_t)512)

/* More than this is guessed only for input of which it is less than FIRST_RATIO times.  Input that
 * does not compress may follow input that did. */
#define GUESS_MAX ((size_t)16 << 20)

/* Output of less than this keeps the interpreter's lock: letting it go takes as long. */
#define UNLOCK_MIN ((size_t)2048)

/* Memory of at most this many bytes is kept for the next call of any decoder. */
#define SPARE_MAX ((size_t)4 << 20)

/* Memory for output, which becomes bytes once their number is known. */
struct memory {
    size_t size;
    uint8_t bytes[];
};

static _Atomic(struct memory *) spare;

struct output {
    struct memory *memory;
    gzlzss_out out;
    size_t most; /* the most bytes of output */
};

/* Guesses the output of `len` bytes of input, by what the stream's input became so far. */
static size_t guess(const struct decoder *self, size_t len)
{
    const double ratio =
        self->in_len > 0 ? (double)self->out_len / (double)self->in_len : (double)FIRST_RATIO;
    const double first = (double)len * FIRST_RATIO;
    const double most = first > (double)GUESS_MAX ? first : (double)GUESS_MAX;
    double room = (double)len * ratio * 1.125;

    if (room > most)
        room = most;
    return LEAST_ROOM + (room < (double)(PY_SSIZE_T_MAX / 4) ? (size_t)room : 0);
}

/* Gives the output this much room in all, at most o->most; or more if the memory has more, unless
 * so little is wanted that run() keeps the interpreter's lock.  Returns false with an exception. */
static bool set_room(struct output *o, size_t room)
{
    struct memory *m = o->memory != NULL ? o->memory : atomic_exchange(&spare, NULL);

    if (m == NULL || m->size < room) {
        struct memory *larger = realloc(m, sizeof(*m) + room);

        if (larger == NULL) {
            free(m);
            o->memory = NULL;
            PyErr_NoMemory();
            return false;
        }
        m = larger;
        m->size = room;
    }
    o->memory = m;
    o->out.bytes = m->bytes;
    if (room >= UNLOCK_MIN)
        room = m->size;
    o->out.size = room < o->most ? room : o->most;
    return true;
}

static void free_output(struct output *o)
{
    if (o->memory != NULL && o->memory->size <= SPARE_MAX)
        o->memory = atomic_exchange(&spare, o->memory);
    free(o->memory);
}

/* --- Decoding ------------------------------------------------------------------------------- */

static gzlzss_status run(struct decoder *self, struct output *o, gzlzss_in *in)
{
    gzlzss_status status;

    if (o->out.size < UNLOCK_MIN)
        return gzlzss_decoder_run(self->d, &o->out, in);
    Py_BEGIN_ALLOW_THREADS status = gzlzss_decoder_run(self->d, &o->out, in);
    Py_END_ALLOW_THREADS return status;
}

/* Gives the decoder the dictionary that it asks for.  Returns false with an exception. */
static bool give_dictionary(struct decoder *self)
{
    const gzlzss_status status = gzlzss_decoder_dictionary(
        self->d, PyBytes_AsString(self->dictionary), (size_t)PyBytes_Size(self->dictionary));

    if (status == GZLZSS_ERROR_DATA)
        PyErr_SetString(zlib_error, "Error -3 while setting zdict: invalid input data");
    else if (status != GZLZSS_OK)
        PyErr_NoMemory();
    return status == GZLZSS_OK;
}

/* Decodes until the input is used, or o->most bytes are made.  Sets *status.  Returns false with an
 * exception. */
static bool decode(struct decoder *self, struct output *o, gzlzss_in *in, gzlzss_status *status)
{
    for (;;) {
        *status = run(self, o, in);
        if (*status == GZLZSS_NEEDS_DICTIONARY && self->dictionary != NULL) {
            if (!give_dictionary(self))
                return false;
            continue;
        }
        if (*status != GZLZSS_OK || o->out.used < o->out.size || o->out.size == o->most)
            return true;
        if (!set_room(o, o->out.size < o->most / 2 ? 2 * o->out.size : o->most))
            return false;
    }
}

/* Replaces *bytes by bytes with these contents, after those of `first`, which may be NULL. */
static bool replace(PyObject **bytes, PyObject *first, const gzlzss_in *in)
{
    const size_t before = first != NULL ? (size_t)PyBytes_Size(first) : 0;
    const size_t left = in->size - in->used;
    PyObject *made = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(before + left));
    char *to;

    if (made == NULL)
        return false;
    to = PyBytes_AsString(made);
    if (before > 0)
        memcpy(to, PyBytes_AsString(first), before);
    if (left > 0)
        memcpy(to + before, (const char *)in->bytes + in->used, left);
    Py_DECREF(*bytes);
    *bytes = made;
    return true;
}

/* Keeps the rest of the input in unused_data after the stream's end, and else in unconsumed_tail.
 * As in zlib, a tail that was there becomes the rest after the end, too. */
static bool keep_rest(struct decoder *self, const gzlzss_in *in)
{
    const bool has_rest = in->used < in->size;

    if (self->eof && has_rest && !replace(&self->unused_data, self->unused_data, in))
        return false;
    if ((!self->eof && has_rest) || PyBytes_Size(self->unconsumed_tail) > 0)
        return replace(&self->unconsumed_tail, NULL, in);
    return true;
}

/* Does what zlib's object does after flush() at the end: it keeps the data as unconsumed_tail, and
 * raises an error. */
static void refuse(struct decoder *self, const gzlzss_in *in)
{
    if (replace(&self->unconsumed_tail, NULL, in))
        PyErr_SetString(zlib_error, "Error -2 while decompressing data: inconsistent stream state");
}

/* Sets the exception for a status.  The numbers are zlib's. */
static void raise_error(const struct decoder *self, gzlzss_status status)
{
    const char *error = gzlzss_decoder_error(self->d);

    if (status == GZLZSS_ERROR_MEMORY)
        PyErr_NoMemory();
    else if (status == GZLZSS_NEEDS_DICTIONARY)
        PyErr_SetString(zlib_error, "Error 2 while decompressing data");
    else
        PyErr_Format(zlib_error, "Error -3 while decompressing data: %s", error);
}

/* Decodes `in`, with room for `room` bytes at first.  Returns the output, or NULL with an
 * exception.  The lock is held. */
static PyObject *decode_to_bytes(struct decoder *self, gzlzss_in *in, size_t room, size_t most,
                                 bool raises)
{
    struct output o = {.most = most};
    gzlzss_status status;

    PyObject *result = NULL;

    if (set_room(&o, room < most ? room : most) && decode(self, &o, in, &status)) {
        self->in_len += in->used;
        self->out_len += o.out.used;
        self->eof = status == GZLZSS_STREAM_END;
        if (!keep_rest(self, in))
            PyErr_NoMemory();
        else if (raises && status != GZLZSS_OK && status != GZLZSS_STREAM_END)
            raise_error(self, status);
        else
            result = PyBytes_FromStringAndSize(o.out.bytes, (Py_ssize_t)o.out.used);
    }
    free_output(&o);
    return result;
}

/* --- Methods -------------------------------------------------------------------------------- */

static PyObject *decoder_decompress(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"", "max_length", NULL};
    struct decoder *self = (struct decoder *)object;
    Py_ssize_t most = 0;
    PyObject *result = NULL;
    gzlzss_in in;
    Py_buffer data;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "y*|n:decompress", names, &data, &most))
        return NULL;
    if (most < 0) {
        PyBuffer_Release(&data);
        PyErr_SetString(PyExc_ValueError, "max_length must be non-negative");
        return NULL;
    }
    take(self);
    in = (gzlzss_in){data.buf, (size_t)data.len, 0};
    if (self->is_flushed)
        refuse(self, &in);
    else
        result = decode_to_bytes(self, &in, guess(self, in.size),
                                 most > 0 ? (size_t)most : PY_SSIZE_T_MAX, true);
    leave(self);
    PyBuffer_Release(&data);
    return result;
}

static PyObject *decoder_flush(PyObject *object, PyObject *args)
{
    struct decoder *self = (struct decoder *)object;
    Py_ssize_t length = 16384;
    PyObject *tail, *result;
    gzlzss_in in;

    if (!PyArg_ParseTuple(args, "|n:flush", &length))
        return NULL;
    if (length <= 0) {
        PyErr_SetString(PyExc_ValueError, "length must be greater than zero");
        return NULL;
    }
    take(self);
    if (self->is_flushed) {
        result = PyBytes_FromStringAndSize(NULL, 0);
    } else {
        tail = Py_NewRef(self->unconsumed_tail);
        in = (gzlzss_in){PyBytes_AsString(tail), (size_t)PyBytes_Size(tail), 0};
        result = decode_to_bytes(self, &in, (size_t)length, PY_SSIZE_T_MAX, false);
        self->is_flushed = self->eof;
        Py_DECREF(tail);
    }
    leave(self);
    return result;
}

/* Makes `copy` go on where self is; the lock is held.  Returns false with an exception. */
static bool copy_state(const struct decoder *self, struct decoder *copy)
{
    if (self->is_flushed) {
        PyErr_SetString(PyExc_ValueError, "Inconsistent stream state");
        return false;
    }
    if (gzlzss_decoder_copy(&copy->d, self->d) != GZLZSS_OK) {
        PyErr_NoMemory();
        return false;
    }
    Py_XINCREF(self->dictionary);
    copy->dictionary = self->dictionary;
    Py_DECREF(copy->unused_data);
    copy->unused_data = Py_NewRef(self->unused_data);
    Py_DECREF(copy->unconsumed_tail);
    copy->unconsumed_tail = Py_NewRef(self->unconsumed_tail);
    copy->eof = self->eof;
    copy->in_len = self->in_len;
    copy->out_len = self->out_len;
    return true;
}

static PyObject *decoder_copy(PyObject *object, PyObject *unused)
{
    struct decoder *self = (struct decoder *)object, *copy = allocate(Py_TYPE(object));
    bool ok;

    (void)unused;
    if (copy == NULL)
        return NULL;
    take(self);
    ok = copy_state(self, copy);
    leave(self);
    if (ok)
        return (PyObject *)copy;
    Py_DECREF(copy);
    return NULL;
}

static PyObject *decoder_eof(PyObject *object, void *unused)
{
    (void)unused;
    return PyBool_FromLong(((struct decoder *)object)->eof);
}

static PyObject *decoder_unused_data(PyObject *object, void *unused)
{
    (void)unused;
    return Py_NewRef(((struct decoder *)object)->unused_data);
}

static PyObject *decoder_unconsumed_tail(PyObject *object, void *unused)
{
    (void)unused;
    return Py_NewRef(((struct decoder *)object)->unconsumed_tail);
}

static PyMethodDef decoder_methods[] = {
    {"decompress", (PyCFunction)(void (*)(void))decoder_decompress, METH_VARARGS | METH_KEYWORDS,
     PyDoc_STR("decompress($self, data, /, max_length=0)\n--\n\nReturns data decompressed, at most "
               "max_length bytes; then the rest of data is in unconsumed_tail.")},
    {"flush", decoder_flush, METH_VARARGS,
     PyDoc_STR("flush($self, length=16384, /)\n--\n\nReturns unconsumed_tail decompressed.")},
    {"copy", decoder_copy, METH_NOARGS, PyDoc_STR("copy($self, /)\n--\n\nReturns a copy.")},
    {"__copy__", decoder_copy, METH_NOARGS, PyDoc_STR("__copy__($self, /)\n--\n\nReturns a copy.")},
    {"__deepcopy__", decoder_copy, METH_O,
     PyDoc_STR("__deepcopy__($self, memo, /)\n--\n\nReturns a copy.")},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef decoder_properties[] = {
    {"eof", decoder_eof, NULL, PyDoc_STR("whether the stream has ended"), NULL},
    {"unused_data", decoder_unused_data, NULL, PyDoc_STR("the input after the stream's end"), NULL},
    {"unconsumed_tail", decoder_unconsumed_tail, NULL,
     PyDoc_STR("the input that was not decompressed because of max_length"), NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot decoder_slots[] = {
    {Py_tp_new, (void *)decoder_new},
    {Py_tp_dealloc, (void *)decoder_dealloc},
    {Py_tp_methods, decoder_methods},
    {Py_tp_getset, decoder_properties},
    {Py_tp_doc, (void *)PyDoc_STR("a stream that is decompressed, as zlib.decompressobj's")},
    {0, NULL},
};

static PyType_Spec decoder_spec = {.name = "gzlzss._core.Decoder",
                                   .basicsize = sizeof(struct decoder),
                                   .flags = Py_TPFLAGS_DEFAULT,
                                   .slots = decoder_slots};

bool py_decoder_init(PyObject *module)
{
    PyObject *zlib = PyImport_ImportModule("zlib");

    if (zlib == NULL)
        return false;
    zlib_error = PyObject_GetAttrString(zlib, "error");
    Py_DECREF(zlib);
    return zlib_error != NULL && py_add_type(module, &decoder_spec) != NULL;
}
