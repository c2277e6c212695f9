/*
 * reader.c - reading the decompressed data of a file or of memory at any place
 */
#include "core.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

struct reader {
    PyObject_HEAD struct crew *crew;
    gzlzss_reader *r;
    /* The file that is read, by a descriptor of the reader's own; -1 if memory is read. */
    int fd;
    /* The memory that is read, and that of an index, if `obj` is not NULL. */
    Py_buffer in, index;
    /* Whether there was a read.  An index must come before. */
    bool was_read;
};

/* A call that is under way. */
struct reader_call {
    struct reader *self;
    gzlzss_call call;
    void *buf;
    size_t len;
    uint64_t number; /* an offset, or the size */
    gzlzss_index_format format;
    gzlzss_status status;
};

static struct reader_call begin_call(struct reader *self)
{
    self->was_read = true;
    return (struct reader_call){.self = self, .call = GZLZSS_CALL_INIT};
}

/* Does the work by py_guard_run, as a read may decode all of the file.  Returns whether the work
 * was done; else there is an exception. */
static bool finish_call(struct reader_call *c, void (*work)(void *))
{
    gzlzss *z = c->self->crew->z;

    if (!py_guard_run(z, &c->call, GUARD_MIN, work, c))
        return false;
    if (c->status != GZLZSS_OK)
        py_raise_status(py_error_of(c->status, &c->call), z, c->call.error_number);
    return c->status == GZLZSS_OK;
}

/* Duplicates the file's descriptor.  If the caller closes the file, the number may become another
 * file's.  Returns false with an exception. */
static bool copy_descriptor(struct reader *self, PyObject *file)
{
    const int fd = PyObject_AsFileDescriptor(file);

    if (fd < 0)
        return false;
    self->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (self->fd < 0)
        PyErr_SetFromErrno(PyExc_OSError);
    return self->fd >= 0;
}

static PyObject *reader_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"crew", "file", NULL};
    gzlzss_status status;
    PyObject *crew, *file;
    struct reader *self;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O:Reader", names, py_crew_type, &crew, &file))
        return NULL;
    self = (struct reader *)PyType_GenericAlloc(type, 0);
    if (self == NULL)
        return NULL;
    self->fd = -1;
    self->crew = (struct crew *)Py_NewRef(crew);
    if (PyLong_Check(file)) {
        if (!copy_descriptor(self, file))
            goto failed;
        status = gzlzss_reader_fd(&self->r, self->crew->z, self->fd, NULL);
    } else {
        if (PyObject_GetBuffer(file, &self->in, PyBUF_SIMPLE) != 0)
            goto failed;
        status =
            gzlzss_reader_memory(&self->r, self->crew->z, self->in.buf, (size_t)self->in.len, NULL);
    }
    if (status == GZLZSS_OK)
        return (PyObject *)self;
    py_raise_status(status, self->crew->z, 0);
failed:
    Py_DECREF(self);
    return NULL;
}

static void reader_dealloc(PyObject *object)
{
    struct reader *self = (struct reader *)object;

    gzlzss_reader_free(self->r);
    if (self->fd >= 0)
        close(self->fd);
    PyBuffer_Release(&self->in);
    PyBuffer_Release(&self->index);
    Py_XDECREF((PyObject *)self->crew);
    py_free_object(object);
}

static void read_work(void *argument)
{
    struct reader_call *c = argument;

    c->status = gzlzss_reader_read(c->self->r, c->buf, &c->len, c->number, &c->call);
}

static PyObject *reader_readinto(PyObject *object, PyObject *args)
{
    struct reader_call c = begin_call((struct reader *)object);
    unsigned long long offset;
    PyObject *result = NULL;
    Py_buffer out;

    if (!PyArg_ParseTuple(args, "w*K:readinto", &out, &offset))
        return NULL;
    c.buf = out.buf;
    c.len = (size_t)out.len;
    c.number = offset;
    if (finish_call(&c, read_work))
        result = PyLong_FromSize_t(c.len);
    PyBuffer_Release(&out);
    return result;
}

static PyObject *reader_place(PyObject *object, PyObject *args)
{
    struct reader_call c = begin_call((struct reader *)object);
    unsigned long long offset;
    char byte;

    if (!PyArg_ParseTuple(args, "K:place", &offset))
        return NULL;
    c.buf = &byte;
    c.len = 1;
    c.number = offset;
    return finish_call(&c, read_work) ? PyLong_FromUnsignedLongLong(c.call.in_bytes) : NULL;
}

static void size_work(void *argument)
{
    struct reader_call *c = argument;

    c->status = gzlzss_reader_size(c->self->r, &c->number, &c->call);
}

static PyObject *reader_size(PyObject *object, PyObject *unused)
{
    struct reader_call c = begin_call((struct reader *)object);

    (void)unused;
    return finish_call(&c, size_work) ? PyLong_FromUnsignedLongLong(c.number) : NULL;
}

/* Memory for an index grows until all of it fits. */
static void export_work(void *argument)
{
    struct reader_call *c = argument;

    do {
        void *larger = c->len > 0 ? realloc(c->buf, c->len) : NULL;

        if (c->len > 0 && larger == NULL) {
            c->status = GZLZSS_ERROR_MEMORY;
            return;
        }
        c->buf = larger;
        c->status = gzlzss_reader_export(c->self->r, c->format, c->buf, &c->len, &c->call);
    } while (c->status == GZLZSS_ERROR_ROOM);
}

static PyObject *reader_export(PyObject *object, PyObject *args)
{
    struct reader_call c = begin_call((struct reader *)object);
    PyObject *result = NULL;
    int format;

    if (!PyArg_ParseTuple(args, "i:export", &format))
        return NULL;
    c.format = (gzlzss_index_format)format;
    if (finish_call(&c, export_work))
        result = PyBytes_FromStringAndSize(c.buf, (Py_ssize_t)c.len);
    free(c.buf);
    return result;
}

static PyObject *reader_use_index(PyObject *object, PyObject *args)
{
    struct reader *self = (struct reader *)object;
    gzlzss_call call = GZLZSS_CALL_INIT;
    gzlzss_status status;

    if (self->index.obj != NULL || self->was_read) {
        PyErr_SetString(PyExc_ValueError, "an index must come before all else");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "y*:use_index", &self->index))
        return NULL;
    /* Keep the interpreter's lock, so that no other thread reads meanwhile. */
    status = gzlzss_reader_index(self->r, self->index.buf, (size_t)self->index.len, &call);
    if (status == GZLZSS_OK)
        Py_RETURN_NONE;
    return py_raise_status(status, self->crew->z, call.error_number);
}

static PyMethodDef methods[] = {
    {"readinto", reader_readinto, METH_VARARGS,
     PyDoc_STR(
         "readinto($self, out, offset, /)\n--\n\nReads the data from offset on; returns the bytes "
         "read.")},
    {"place", reader_place, METH_VARARGS,
     PyDoc_STR("place($self, offset, /)\n--\n\nReturns about where in the input the data's byte "
               "`offset` is.")},
    {"size", reader_size, METH_NOARGS,
     PyDoc_STR("size($self, /)\n--\n\nReturns the bytes of the data.")},
    {"export", reader_export, METH_VARARGS,
     PyDoc_STR("export($self, format, /)\n--\n\nReturns an index of the input.")},
    {"use_index", reader_use_index, METH_VARARGS,
     PyDoc_STR("use_index($self, index, /)\n--\n\nTakes an index, before the first read.")},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, (void *)reader_new},
    {Py_tp_dealloc, (void *)reader_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_doc, (void *)PyDoc_STR("the decompressed data of a file or of memory")},
    {0, NULL},
};

static PyType_Spec spec = {.name = "gzlzss._core.Reader",
                           .basicsize = sizeof(struct reader),
                           .flags = Py_TPFLAGS_DEFAULT,
                           .slots = slots};

bool py_reader_init(PyObject *module)
{
    return py_add_type(module, &spec) != NULL;
}
