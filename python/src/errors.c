/*
 * errors.c - the exceptions for the library's statuses
 *
 * They are those that gzip and zlib raise: BadGzipFile, EOFError, zlib.error.  The library has one
 * status for damaged data, for which gzip raises zlib.error or BadGzipFile, as the damage may be.
 * So DataError is both, and a program that catches one of them catches it.
 */
#include "core.h"

#include <errno.h>
#include <string.h>

static PyObject *bad_gzip_file, *data_error, *gpu_error, *cancelled_error;

/* Returns an attribute of a module that is imported; a new reference, or NULL with an exception. */
static PyObject *attribute_of(const char *module, const char *name)
{
    PyObject *imported = PyImport_ImportModule(module), *found;

    if (imported == NULL)
        return NULL;
    found = PyObject_GetAttrString(imported, name);
    Py_DECREF(imported);
    return found;
}

/* Makes an exception and adds it to the module; returns a reference of its own. */
static PyObject *add_exception(PyObject *module, const char *name, const char *text,
                               PyObject *bases)
{
    char full[64];
    PyObject *made;

    PyOS_snprintf(full, sizeof(full), "gzlzss.%s", name);
    made = PyErr_NewExceptionWithDoc(full, text, bases, NULL);
    if (made != NULL && PyObject_SetAttrString(module, name, made) != 0)
        Py_CLEAR(made);
    return made;
}

static bool add_data_error(PyObject *module)
{
    PyObject *zlib_error = attribute_of("zlib", "error");
    PyObject *bases = zlib_error != NULL ? PyTuple_Pack(2, bad_gzip_file, zlib_error) : NULL;

    if (bases != NULL)
        data_error = add_exception(module, "DataError",
                                   "The compressed data is damaged.  This is a gzip.BadGzipFile "
                                   "and a zlib.error.",
                                   bases);
    Py_XDECREF(bases);
    Py_XDECREF(zlib_error);
    return data_error != NULL;
}

bool py_errors_init(PyObject *module)
{
    bad_gzip_file = attribute_of("gzip", "BadGzipFile");
    if (bad_gzip_file == NULL || !add_data_error(module))
        return false;
    gpu_error = add_exception(module, "GPUError", "No GPU can be used; the text says why.",
                              PyExc_RuntimeError);
    cancelled_error = add_exception(module, "CancelledError", "Pool.cancel() ended the call.",
                                    PyExc_RuntimeError);
    return gpu_error != NULL && cancelled_error != NULL;
}

static PyObject *exception_of(gzlzss_status status)
{
    switch (status) {
    case GZLZSS_ERROR_ARGUMENT:
    case GZLZSS_ERROR_ROOM:
        return PyExc_ValueError;
    case GZLZSS_ERROR_FORMAT:
    case GZLZSS_ERROR_TRAILING:
        return bad_gzip_file;
    case GZLZSS_ERROR_DATA:
        return data_error;
    case GZLZSS_ERROR_TRUNCATED:
        return PyExc_EOFError;
    case GZLZSS_ERROR_GPU:
        return gpu_error;
    case GZLZSS_ERROR_CANCELLED:
        return cancelled_error;
    default:
        return PyExc_RuntimeError;
    }
}

static const char *text_of(gzlzss_status status)
{
    switch (status) {
    case GZLZSS_ERROR_FORMAT:
        return "Not a gzipped file";
    case GZLZSS_ERROR_TRAILING:
        return "Not a gzipped file (trailing garbage)";
    case GZLZSS_ERROR_TRUNCATED:
        return "Compressed file ended before the end-of-stream marker was reached";
    case GZLZSS_ERROR_FORKED:
        return "a process cannot go on with what its parent has begun";
    default:
        return gzlzss_status_text(status);
    }
}

/* gzip's words for what the library says about an error in the data.  The order of the rows does
 * not matter. */
static const struct {
    const char *message, *text;
} reasons[] = {
    {"incorrect data check", "CRC check failed"},
    {"incorrect length check", "Incorrect length of data produced"},
    {"header crc mismatch", "Corrupted gzip header. Checksums do not match"},
    {"unknown compression method", "Unknown compression method"},
    {"unknown header flags set", "Unknown header flags set"},
};

/* The number of row I of `reasons` for a status is STATUS - REASON_STEP * (I + 1). */
#define REASON_STEP 100

int py_error_of(gzlzss_status status, const gzlzss_call *call)
{
    if (status >= 0 || call->message == NULL)
        return status;
    for (int i = 0; i < (int)(sizeof(reasons) / sizeof(reasons[0])); i++)
        if (strcmp(reasons[i].message, call->message) == 0)
            return status - REASON_STEP * (i + 1);
    return status;
}

PyObject *py_raise_status(int error, const gzlzss *z, int error_number)
{
    const gzlzss_status status = (gzlzss_status)(error % REASON_STEP);
    const int reason = -(error / REASON_STEP);
    char why[256];

    if (reason > 0 && reason <= (int)(sizeof(reasons) / sizeof(reasons[0]))) {
        PyErr_SetString(exception_of(status), reasons[reason - 1].text);
        return NULL;
    }
    switch (status) {
    case GZLZSS_ERROR_MEMORY:
        return PyErr_NoMemory();
    case GZLZSS_ERROR_READ:
    case GZLZSS_ERROR_WRITE:
        errno = error_number;
        return PyErr_SetFromErrno(PyExc_OSError);
    case GZLZSS_ERROR_GPU:
        gzlzss_no_gpu(z, why, sizeof(why));
        PyErr_Format(gpu_error, "no GPU: %s", why[0] != '\0' ? why : "no GPU engine could be used");
        return NULL;
    default:
        PyErr_SetString(exception_of(status), text_of(status));
        return NULL;
    }
}
