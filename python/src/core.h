/*
 * core.h - what the files of the extension module gzlzss._core share
 *
 * The module gives libgzlzss to Python in five types, and gzlzss/ makes the package's functions and
 * classes of them:
 *
 *   - Crew (crew.c): an object of the library, with the calls for data in memory;
 *   - Compressor and Decompressor (streams.c): streams;
 *   - Reader (reader.c): reading at any place;
 *   - Decoder (decoder.c): one stream, decompressed in the calling thread.
 *
 * Data in a GPU's memory has functions of its own (cuda.c).  file.c makes files' methods quick.
 *
 * Each object but a Decoder keeps a reference to its crew, so the crew outlives it.  Calls give up
 * the interpreter's lock (guard.c) and turn statuses into exceptions (errors.c).
 *
 * Names that files share start with py_, since the library's files are linked with these.
 *
 * The module uses only Python's limited API, with buffers, which this API has since 3.11.  For
 * earlier versions of Python it is compiled for one version.
 */
#ifndef GZLZSS_PYTHON_CORE_H
#define GZLZSS_PYTHON_CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <gzlzss.h>

#if PY_VERSION_HEX < 0x030a0000
static inline PyObject *Py_NewRef(PyObject *object)
{
    Py_INCREF(object);
    return object;
}
#endif

/* --- Crews (crew.c) ------------------------------------------------------------------------- */

struct crew {
    PyObject_HEAD gzlzss *z;
    gzlzss_format format;
};

extern PyTypeObject *py_crew_type;

/* Adds the type to the module.  Returns false with an exception. */
bool py_crew_init(PyObject *module);

/* Copies a header's name, which is None or bytes, to *copy; the caller frees it.  Returns false
 * with an exception if the name has a zero byte, or memory is short. */
bool py_copy_name(PyObject *name, char **copy);

/* --- The other types ------------------------------------------------------------------------ */

bool py_streams_init(PyObject *module);
bool py_reader_init(PyObject *module);
bool py_cuda_init(PyObject *module);
bool py_decoder_init(PyObject *module);

/* --- Files (file.c) ------------------------------------------------------------------------- */

bool py_file_init(void);

/* The Python function that puts C functions in the places of a class's most frequent methods. */
PyObject *py_file_quicken(PyObject *module, PyObject *type);

/* --- Types ---------------------------------------------------------------------------------- */

/* Makes a type and adds it to the module.  Returns NULL with an exception. */
PyTypeObject *py_add_type(PyObject *module, PyType_Spec *spec);

/* Frees the memory of an object of a type that py_add_type has made; the end of its dealloc. */
void py_free_object(PyObject *self);

/* --- Errors (errors.c) ---------------------------------------------------------------------- */

bool py_errors_init(PyObject *module);

/* Returns a number for a status and what it is about, which *call says. */
int py_error_of(gzlzss_status status, const gzlzss_call *call);

/* Sets the exception for a status that is an error, or for a number of py_error_of, and returns
 * NULL.  `z` may be NULL; it tells why there is no GPU.  `error_number` counts after errors of
 * reading and writing. */
PyObject *py_raise_status(int error, const gzlzss *z, int error_number);

/* --- Calls that take long (guard.c) --------------------------------------------------------- */

/* Work on fewer bytes than this takes no longer than some ten milliseconds. */
#define GUARD_MIN ((size_t)256 << 10)

/*
 * Does work(argument) without the interpreter's lock.  If that may take long, because it is about
 * `bytes` bytes or more than GUARD_MIN, and this is the main thread, another thread does the work.
 * Then this thread runs Python's signal handlers meanwhile; if one raises an exception, it cancels
 * the call of `z` that uses `call` and waits for its end.
 *
 * Returns true, or false with the exception.  The work has ended in both cases.
 */
bool py_guard_run(gzlzss *z, const gzlzss_call *call, size_t bytes, void (*work)(void *),
                  void *argument);

/* The Python function that tells which thread is the main one. */
PyObject *py_guard_set_main_thread(PyObject *module, PyObject *ident);

#endif
