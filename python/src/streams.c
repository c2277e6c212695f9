/*
 * streams.c - streams: data that is compressed or decompressed a part at a time
 *
 * A stream belongs to one thread at a time, so each object has a lock.  A thread that waits for it
 * gives up the interpreter's lock.  In a child process after fork(), the lock may belong to a
 * thread that exists only in the parent; so the child gets an error before it takes the lock.  A
 * signal handler may run in the thread that has the lock, which would wait for itself; so it gets
 * an error, too.
 */
#include "core.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What both kinds of stream are. */
struct stream {
    PyObject_HEAD struct crew *crew;
    gzlzss_stream *s;
    gzlzss_call call;
    PyThread_type_lock lock;
    /* The thread that has the lock; 0 if none has it. */
    atomic_ulong holder;
    pid_t owner;
    /* The status with which the stream has ended; GZLZSS_OK before. */
    gzlzss_status end;
    /* Bytes of input that the library has used so far, as it last said. */
    atomic_ullong told_in;
};

/* --- Both kinds ----------------------------------------------------------------------------- */

static int progress(void *ctx, uint64_t in, uint64_t out)
{
    struct stream *self = ctx;

    (void)out;
    atomic_store(&self->told_in, in);
    return 0;
}

/* Makes an object of at least a struct stream.  Returns NULL with an exception. */
static struct stream *stream_new(PyTypeObject *type, PyObject *crew)
{
    struct stream *self = (struct stream *)PyType_GenericAlloc(type, 0);

    if (self == NULL)
        return NULL;
    self->crew = (struct crew *)Py_NewRef(crew);
    self->call = (gzlzss_call)GZLZSS_CALL_INIT;
    self->call.progress = progress;
    self->call.ctx = self;
    self->owner = getpid();
    self->lock = PyThread_allocate_lock();
    if (self->lock != NULL)
        return self;
    PyErr_NoMemory();
    Py_DECREF(self);
    return NULL;
}

/* Frees the library's stream.  Waits until the stream's work has ended. */
static void free_library_stream(struct stream *self)
{
    if (self->s == NULL)
        return;
    Py_BEGIN_ALLOW_THREADS gzlzss_stream_free(self->s);
    Py_END_ALLOW_THREADS self->s = NULL;
}

/* Frees all that a struct stream has. */
static void stream_clear(struct stream *self)
{
    free_library_stream(self);
    free((char *)self->call.name);
    if (self->lock != NULL)
        PyThread_free_lock(self->lock);
    Py_XDECREF((PyObject *)self->crew);
}

/* Takes the lock.  Returns false with an exception if another process made the stream, or this
 * thread has the lock already. */
static bool take(struct stream *self)
{
    if (self->owner != getpid()) {
        py_raise_status(GZLZSS_ERROR_FORKED, self->crew->z, 0);
        return false;
    }
    if (atomic_load(&self->holder) == PyThread_get_thread_ident()) {
        PyErr_SetString(PyExc_RuntimeError, "reentrant call");
        return false;
    }
    if (!PyThread_acquire_lock(self->lock, NOWAIT_LOCK)) {
        Py_BEGIN_ALLOW_THREADS PyThread_acquire_lock(self->lock, WAIT_LOCK);
        Py_END_ALLOW_THREADS
    }
    atomic_store(&self->holder, PyThread_get_thread_ident());
    return true;
}

static void leave(struct stream *self)
{
    atomic_store(&self->holder, 0);
    PyThread_release_lock(self->lock);
}

/* --- Compression ---------------------------------------------------------------------------- */

/* Up to this many bytes, a Compressor keeps its input.  If there is no more, one call compresses
 * all of it, which is faster than a stream.  The output is the same. */
#define HELD_MAX ((size_t)128 << 10)

/* Memory for output of at most this many bytes is kept for the next call. */
#define KEPT_MAX ((size_t)1 << 20)

struct compressor {
    struct stream stream;
    uint8_t *held;
    size_t held_len, held_room;
    /* Bytes of input since the last flush. */
    size_t since_flush;
    /* Output of the call that is under way. */
    uint8_t *out;
    size_t out_len, out_room;
};

/* A call of the stream. */
struct run {
    struct compressor *self;
    gzlzss_in in;
    gzlzss_directive directive;
    gzlzss_status status;
};

static PyObject *compressor_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"crew", "name", "mtime", NULL};
    PyObject *crew, *name = Py_None;
    unsigned int mtime = 0;
    struct stream *self;
    char *copy;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!|OI:Compressor", names, py_crew_type, &crew,
                                     &name, &mtime))
        return NULL;
    self = stream_new(type, crew);
    if (self == NULL)
        return NULL;
    if (!py_copy_name(name, &copy)) {
        Py_DECREF(self);
        return NULL;
    }
    self->call.name = copy;
    self->call.mtime = mtime;
    return (PyObject *)self;
}

static void free_buffers(struct compressor *self)
{
    free(self->held);
    free(self->out);
    self->held = self->out = NULL;
    self->held_len = self->held_room = self->out_len = self->out_room = 0;
}

static void compressor_dealloc(PyObject *object)
{
    struct compressor *self = (struct compressor *)object;

    stream_clear(&self->stream);
    free_buffers(self);
    py_free_object(object);
}

/* Makes room for at least `more` bytes of output.  Returns false if memory is short. */
static bool make_room(struct compressor *self, size_t more)
{
    size_t room = self->out_room;
    uint8_t *larger;

    if (room - self->out_len >= more)
        return true;
    room = room * 2 > self->out_len + more ? room * 2 : self->out_len + more;
    larger = realloc(self->out, room);
    if (larger == NULL)
        return false;
    self->out = larger;
    self->out_room = room;
    return true;
}

/* Runs the stream until the directive is done.  The library says so by leaving room in the
 * output. */
static void run_stream(struct run *r)
{
    struct compressor *self = r->self;
    gzlzss_out out = {NULL, 0, 0};

    do {
        if (!make_room(self, (size_t)64 << 10)) {
            r->status = GZLZSS_ERROR_MEMORY;
            return;
        }
        out = (gzlzss_out){self->out, self->out_room, self->out_len};
        r->status = gzlzss_stream_run(self->stream.s, &out, &r->in, r->directive);
        self->out_len = out.used;
    } while (r->status == GZLZSS_OK && out.used == out.size);
}

/* Begins the stream and gives it the input that was held. */
static void begin_stream(struct run *r)
{
    struct compressor *self = r->self;
    struct run first = {self, {self->held, self->held_len, 0}, GZLZSS_CONTINUE, GZLZSS_OK};

    r->status = gzlzss_compress_stream(&self->stream.s, self->stream.crew->z, &self->stream.call);
    if (r->status != GZLZSS_OK)
        return;
    run_stream(&first);
    r->status = first.status;
    free(self->held);
    self->held = NULL;
    self->held_len = self->held_room = 0;
}

/* Compresses the input that was held, which is all of it. */
static void compress_held(struct run *r)
{
    struct compressor *self = r->self;
    gzlzss *z = self->stream.crew->z;
    size_t room = gzlzss_bound(z, self->held_len);

    if (self->stream.call.name != NULL)
        room += 2 * strlen(self->stream.call.name) + 2;
    if (!make_room(self, room)) {
        r->status = GZLZSS_ERROR_MEMORY;
        return;
    }
    r->status =
        gzlzss_compress(z, self->out, &room, self->held, self->held_len, &self->stream.call);
    self->out_len = room;
    if (r->status == GZLZSS_OK)
        r->status = GZLZSS_STREAM_END;
}

static void run_work(void *argument)
{
    struct run *r = argument;

    if (r->self->stream.s == NULL && r->directive == GZLZSS_END) {
        compress_held(r);
        return;
    }
    if (r->self->stream.s == NULL)
        begin_stream(r);
    if (r->status == GZLZSS_OK)
        run_stream(r);
}

/* Whether the input can wait for more. */
static bool hold(struct compressor *self, const Py_buffer *in)
{
    const size_t len = self->held_len + (size_t)in->len;

    if (self->stream.s != NULL || len > HELD_MAX)
        return false;
    if (len > self->held_room) {
        const size_t room = len < HELD_MAX / 2 ? 2 * len : HELD_MAX;
        uint8_t *larger = realloc(self->held, room);

        if (larger == NULL)
            return false;
        self->held = larger;
        self->held_room = room;
    }
    if (in->len > 0)
        memcpy(self->held + self->held_len, in->buf, (size_t)in->len);
    self->held_len = len;
    return true;
}

/* Returns the call's output as bytes. */
static PyObject *take_output(struct compressor *self)
{
    PyObject *result =
        PyBytes_FromStringAndSize((const char *)self->out, (Py_ssize_t)self->out_len);

    self->out_len = 0;
    if (self->out_room > KEPT_MAX) {
        free(self->out);
        self->out = NULL;
        self->out_room = 0;
    }
    return result;
}

/* Runs the stream, and returns the output or NULL with an exception. */
static PyObject *run_to_output(struct compressor *self, struct run *r)
{
    struct stream *stream = &self->stream;

    self->since_flush += r->in.size;
    if (!py_guard_run(stream->crew->z, &stream->call, self->since_flush, run_work, r)) {
        stream->end = GZLZSS_ERROR_CANCELLED;
        self->out_len = 0;
        return NULL;
    }
    if (r->directive != GZLZSS_CONTINUE)
        self->since_flush = 0;
    if (r->status != GZLZSS_OK)
        stream->end = r->status;
    if (r->status < 0) {
        self->out_len = 0;
        return py_raise_status(r->status, stream->crew->z, stream->call.error_number);
    }
    return take_output(self);
}

/* Runs the stream; the lock is held.  Programs may keep a stream long after its end, so its memory
 * is freed at once. */
static PyObject *compressor_run(struct compressor *self, struct run *r)
{
    PyObject *result = run_to_output(self, r);

    if (self->stream.end != GZLZSS_OK) {
        free_library_stream(&self->stream);
        free_buffers(self);
    }
    return result;
}

/* Sets the exception for a stream that has ended before. */
static PyObject *raise_ended(const struct stream *stream)
{
    if (stream->end == GZLZSS_STREAM_END)
        PyErr_SetString(PyExc_ValueError, "the stream has ended");
    else
        py_raise_status(py_error_of(stream->end, &stream->call), stream->crew->z,
                        stream->call.error_number);
    return NULL;
}

static PyObject *compressor_compress(PyObject *object, PyObject *args)
{
    struct compressor *self = (struct compressor *)object;
    struct run r = {self, {NULL, 0, 0}, GZLZSS_CONTINUE, GZLZSS_OK};
    PyObject *result = NULL;
    Py_buffer in;

    if (!PyArg_ParseTuple(args, "y*:compress", &in))
        return NULL;
    if (take(&self->stream)) {
        if (self->stream.end != GZLZSS_OK) {
            raise_ended(&self->stream);
        } else if (hold(self, &in)) {
            result = PyBytes_FromStringAndSize(NULL, 0);
        } else {
            r.in = (gzlzss_in){in.buf, (size_t)in.len, 0};
            result = compressor_run(self, &r);
        }
        leave(&self->stream);
    }
    PyBuffer_Release(&in);
    return result;
}

static PyObject *compressor_flush(PyObject *object, PyObject *args)
{
    struct compressor *self = (struct compressor *)object;
    struct run r = {self, {NULL, 0, 0}, GZLZSS_END, GZLZSS_OK};
    PyObject *result = NULL;
    int directive;

    if (!PyArg_ParseTuple(args, "i:flush", &directive) || !take(&self->stream))
        return NULL;
    r.directive = (gzlzss_directive)directive;
    if (directive < GZLZSS_END || directive > GZLZSS_FULL_FLUSH)
        PyErr_SetString(PyExc_ValueError, "invalid directive");
    else if (self->stream.end != GZLZSS_OK)
        raise_ended(&self->stream);
    else
        result = compressor_run(self, &r);
    leave(&self->stream);
    return result;
}

/* Copies the input that is held; once the stream has begun, it cannot be copied. */
static bool copy_held(const struct compressor *self, struct compressor *copy)
{
    const Py_buffer held = {.buf = self->held, .len = (Py_ssize_t)self->held_len};
    const char *name = self->stream.call.name;

    if (self->stream.s != NULL || self->stream.end != GZLZSS_OK) {
        PyErr_SetString(PyExc_ValueError, "the stream has begun and cannot be copied");
        return false;
    }
    copy->stream.call.mtime = self->stream.call.mtime;
    copy->stream.call.name = name != NULL ? strdup(name) : NULL;
    if ((name != NULL && copy->stream.call.name == NULL) || !hold(copy, &held)) {
        PyErr_NoMemory();
        return false;
    }
    return true;
}

static PyObject *compressor_copy(PyObject *object, PyObject *unused)
{
    struct compressor *self = (struct compressor *)object, *copy;

    (void)unused;
    copy = (struct compressor *)stream_new(Py_TYPE(object), (PyObject *)self->stream.crew);
    if (copy == NULL)
        return NULL;
    if (take(&self->stream)) {
        const bool ok = copy_held(self, copy);

        leave(&self->stream);
        if (ok)
            return (PyObject *)copy;
    }
    Py_DECREF(copy);
    return NULL;
}

static PyMethodDef compressor_methods[] = {
    {"compress", compressor_compress, METH_VARARGS,
     PyDoc_STR("compress($self, data, /)\n--\n\nTakes data; returns output, or none yet.")},
    {"flush", compressor_flush, METH_VARARGS,
     PyDoc_STR(
         "flush($self, directive, /)\n--\n\nReturns all output: 1 ends the stream, 2 flushes it, 3 "
         "flushes it so that what follows needs nothing before.")},
    {"copy", compressor_copy, METH_NOARGS,
     PyDoc_STR(
         "copy($self, /)\n--\n\nReturns a copy, as long as at most 128 KiB were taken and nothing "
         "was flushed.")},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot compressor_slots[] = {
    {Py_tp_new, (void *)compressor_new},
    {Py_tp_dealloc, (void *)compressor_dealloc},
    {Py_tp_methods, compressor_methods},
    {Py_tp_doc, (void *)PyDoc_STR("a stream that compresses")},
    {0, NULL},
};

static PyType_Spec compressor_spec = {.name = "gzlzss._core.Compressor",
                                      .basicsize = sizeof(struct compressor),
                                      .flags = Py_TPFLAGS_DEFAULT,
                                      .slots = compressor_slots};

/* --- Decompression -------------------------------------------------------------------------- */

struct decompressor {
    struct stream stream;
    /* The input that was given last, of which `used` bytes were taken. */
    Py_buffer in;
    size_t used;
};

/* A call of the stream. */
struct read {
    struct decompressor *self;
    gzlzss_out out;
    gzlzss_directive directive;
    gzlzss_status status;
};

static PyObject *decompressor_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"crew", NULL};
    struct stream *self;
    gzlzss_status status;
    PyObject *crew;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!:Decompressor", names, py_crew_type, &crew))
        return NULL;
    self = stream_new(type, crew);
    if (self == NULL)
        return NULL;
    status = gzlzss_decompress_stream(&self->s, self->crew->z, &self->call);
    if (status == GZLZSS_OK)
        return (PyObject *)self;
    py_raise_status(status, self->crew->z, 0);
    Py_DECREF(self);
    return NULL;
}

static void decompressor_dealloc(PyObject *object)
{
    struct decompressor *self = (struct decompressor *)object;

    stream_clear(&self->stream);
    PyBuffer_Release(&self->in);
    py_free_object(object);
}

static bool has_input(const struct decompressor *self)
{
    return self->used < (size_t)self->in.len;
}

static PyObject *decompressor_feed(PyObject *object, PyObject *data)
{
    struct decompressor *self = (struct decompressor *)object;
    Py_buffer in;

    if (!take(&self->stream))
        return NULL;
    if (has_input(self)) {
        PyErr_SetString(PyExc_ValueError, "there is input already");
    } else if (PyObject_GetBuffer(data, &in, PyBUF_SIMPLE) == 0) {
        PyBuffer_Release(&self->in);
        self->in = in;
        self->used = 0;
    }
    leave(&self->stream);
    return PyErr_Occurred() != NULL ? NULL : Py_NewRef(Py_None);
}

static void read_work(void *argument)
{
    struct read *r = argument;
    struct decompressor *self = r->self;
    gzlzss_in in = {self->in.buf, (size_t)self->in.len, self->used};

    r->status = gzlzss_stream_run(self->stream.s, &r->out, &in, r->directive);
    self->used = in.used;
}

/* Runs the stream; the lock is held.  Returns the bytes of output.  An error is raised only if
 * there is no output, since it comes again. */
static PyObject *decompressor_run(struct decompressor *self, struct read *r)
{
    struct stream *stream = &self->stream;

    if (stream->end == GZLZSS_OK) {
        if (!py_guard_run(stream->crew->z, &stream->call, r->out.size, read_work, r)) {
            stream->end = GZLZSS_ERROR_CANCELLED;
            return NULL;
        }
        stream->end = r->status;
    }
    if (stream->end < 0 && r->out.used == 0)
        return raise_ended(stream);
    return PyLong_FromSize_t(r->out.used);
}

static PyObject *decompressor_readinto(PyObject *object, PyObject *args)
{
    struct decompressor *self = (struct decompressor *)object;
    struct read r = {self, {NULL, 0, 0}, GZLZSS_CONTINUE, GZLZSS_OK};
    PyObject *result = NULL;
    Py_buffer out;
    int directive;

    if (!PyArg_ParseTuple(args, "w*i:readinto", &out, &directive))
        return NULL;
    r.out = (gzlzss_out){out.buf, (size_t)out.len, 0};
    r.directive = (gzlzss_directive)directive;
    if (take(&self->stream)) {
        result = decompressor_run(self, &r);
        leave(&self->stream);
    }
    PyBuffer_Release(&out);
    return result;
}

static PyObject *decompressor_eof(PyObject *object, void *unused)
{
    (void)unused;
    return PyBool_FromLong(((struct stream *)object)->end == GZLZSS_STREAM_END);
}

static PyObject *decompressor_needs_input(PyObject *object, void *unused)
{
    const struct decompressor *self = (struct decompressor *)object;

    (void)unused;
    return PyBool_FromLong(self->stream.end == GZLZSS_OK && !has_input(self));
}

static PyObject *decompressor_told_in(PyObject *object, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLongLong(atomic_load(&((struct stream *)object)->told_in));
}

static PyMethodDef decompressor_methods[] = {
    {"feed", decompressor_feed, METH_O,
     PyDoc_STR("feed($self, data, /)\n--\n\nGives the next input, once needs_input says so.")},
    {"readinto", decompressor_readinto, METH_VARARGS,
     PyDoc_STR(
         "readinto($self, out, directive, /)\n--\n\nReturns the bytes of output: with directive 0 "
         "what there is, 1 if the input ends, 2 if all shall be given now.")},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef decompressor_properties[] = {
    {"eof", decompressor_eof, NULL, PyDoc_STR("whether all data was given"), NULL},
    {"needs_input", decompressor_needs_input, NULL, PyDoc_STR("whether all input was taken"), NULL},
    {"told_in", decompressor_told_in, NULL, PyDoc_STR("bytes of input that were decoded"), NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot decompressor_slots[] = {
    {Py_tp_new, (void *)decompressor_new},
    {Py_tp_dealloc, (void *)decompressor_dealloc},
    {Py_tp_methods, decompressor_methods},
    {Py_tp_getset, decompressor_properties},
    {Py_tp_doc, (void *)PyDoc_STR("a stream that decompresses")},
    {0, NULL},
};

static PyType_Spec decompressor_spec = {.name = "gzlzss._core.Decompressor",
                                        .basicsize = sizeof(struct decompressor),
                                        .flags = Py_TPFLAGS_DEFAULT,
                                        .slots = decompressor_slots};

bool py_streams_init(PyObject *module)
{
    return py_add_type(module, &compressor_spec) != NULL &&
           py_add_type(module, &decompressor_spec) != NULL;
}
