/*
 * file.c - short cuts for the methods of files that programs call most: read, readline and write
 *
 * GzipFile (_file.py) has these methods in Python.  They look at the file's state, and then call
 * the file's buffer, a BufferedReader or BufferedWriter.  For a call that is about a line, the
 * interpreter takes longer for this than the buffer does.  So py_file_quicken puts C functions in
 * the methods' places.  While the file's attribute `_quick` is its buffer, these call the buffer at
 * once.  Otherwise, they call the method in Python, which also raises the errors.
 *
 * They are methods of the class, so that a bound one keeps the file, and a subclass or a test can
 * replace them.
 */
#include "core.h"

enum { READ, READLINE, WRITE, METHODS };

/* The methods in Python, the names of all methods, and of the attributes that are used here. */
static PyObject *slow[METHODS], *names[METHODS], *quick_name, *nothing_name;

static const char *const texts[METHODS] = {"read", "readline", "write"};

/* Returns the buffer that may be called at once, a new reference, or NULL without an exception. */
static PyObject *quick_buffer(PyObject *file)
{
    PyObject *buffer = PyObject_GetAttr(file, quick_name);

    if (buffer == NULL)
        PyErr_Clear();
    if (buffer == Py_None)
        Py_CLEAR(buffer);
    return buffer;
}

/* Calls the method in Python with the same arguments. */
static PyObject *call_slowly(int method, PyObject *file, PyObject *const *args, Py_ssize_t count,
                             PyObject *keys)
{
    const Py_ssize_t named = keys != NULL ? PyTuple_Size(keys) : 0;
    PyObject *all = PyTuple_New(count + 1), *keywords = named > 0 ? PyDict_New() : NULL;
    PyObject *result = NULL;
    bool ok = all != NULL && (named == 0 || keywords != NULL);

    if (ok) {
        PyTuple_SetItem(all, 0, Py_NewRef(file));
        for (Py_ssize_t i = 0; i < count; i++)
            PyTuple_SetItem(all, i + 1, Py_NewRef(args[i]));
    }
    for (Py_ssize_t i = 0; ok && i < named; i++)
        ok = PyDict_SetItem(keywords, PyTuple_GetItem(keys, i), args[count + i]) == 0;
    if (ok)
        result = PyObject_Call(slow[method], all, keywords);
    Py_XDECREF(all);
    Py_XDECREF(keywords);
    return result;
}

/* Returns what a method that reads has read.  The end is checked in Python: a file that does not
 * wait may have no data yet. */
static PyObject *judge(PyObject *file, PyObject *result)
{
    PyObject *judged;

    if (result == NULL || (PyBytes_Check(result) && PyBytes_Size(result) > 0))
        return result;
    judged = PyObject_CallMethodObjArgs(file, nothing_name, result, NULL);
    Py_DECREF(result);
    return judged;
}

/* Calls the buffer's method with one argument, or none. */
static PyObject *call_buffer(int method, PyObject *buffer, PyObject *const *args, Py_ssize_t count)
{
    return PyObject_CallMethodObjArgs(buffer, names[method], count > 0 ? args[0] : NULL, NULL);
}

static PyObject *file_read(PyObject *file, PyObject *const *args, Py_ssize_t count, PyObject *keys)
{
    PyObject *buffer = count <= 1 && keys == NULL ? quick_buffer(file) : NULL, *result;

    if (buffer == NULL)
        return call_slowly(READ, file, args, count, keys);
    result = call_buffer(READ, buffer, args, count);
    Py_DECREF(buffer);
    return judge(file, result);
}

/* Returns the buffer's next line.  A BufferedReader's iterator is faster than its readline. */
static PyObject *next_line(PyObject *buffer)
{
    PyObject *line = PyIter_Next(buffer);

    return line != NULL || PyErr_Occurred() != NULL ? line : PyBytes_FromStringAndSize(NULL, 0);
}

static PyObject *file_readline(PyObject *file, PyObject *const *args, Py_ssize_t count,
                               PyObject *keys)
{
    PyObject *buffer = count <= 1 && keys == NULL ? quick_buffer(file) : NULL, *result;

    if (buffer == NULL)
        return call_slowly(READLINE, file, args, count, keys);
    result = count == 0 ? next_line(buffer) : call_buffer(READLINE, buffer, args, count);
    Py_DECREF(buffer);
    return judge(file, result);
}

/* After an error, the next call is done in Python, since data may be lost. */
static PyObject *file_write(PyObject *file, PyObject *const *args, Py_ssize_t count, PyObject *keys)
{
    PyObject *buffer = count == 1 && keys == NULL ? quick_buffer(file) : NULL, *result;
    PyObject *type, *value, *trace;

    if (buffer == NULL)
        return call_slowly(WRITE, file, args, count, keys);
    result = call_buffer(WRITE, buffer, args, count);
    Py_DECREF(buffer);
    if (result == NULL) {
        PyErr_Fetch(&type, &value, &trace);
        if (PyObject_SetAttr(file, quick_name, Py_None) != 0)
            PyErr_Clear();
        PyErr_Restore(type, value, trace);
    }
    return result;
}

static PyMethodDef methods[METHODS] = {
    [READ] = {"read", (PyCFunction)(void (*)(void))file_read, METH_FASTCALL | METH_KEYWORDS,
              PyDoc_STR("read($self, size=-1)\n--\n\nReads `size` bytes, or all that are left.")},
    [READLINE] = {"readline", (PyCFunction)(void (*)(void))file_readline,
                  METH_FASTCALL | METH_KEYWORDS,
                  PyDoc_STR("readline($self, size=-1)\n--\n\nReads a line, at most `size` bytes of "
                            "it.")},
    [WRITE] = {"write", (PyCFunction)(void (*)(void))file_write, METH_FASTCALL | METH_KEYWORDS,
               PyDoc_STR("write($self, data)\n--\n\nWrites bytes; returns how many.")},
};

PyObject *py_file_quicken(PyObject *module, PyObject *type)
{
    (void)module;
    for (int i = 0; i < METHODS; i++) {
        PyObject *method = PyObject_GetAttrString(type, texts[i]), *quick;

        if (method == NULL)
            return NULL;
        Py_XDECREF(slow[i]);
        slow[i] = method;
        quick = PyDescr_NewMethod((PyTypeObject *)type, &methods[i]);
        if (quick == NULL || PyObject_SetAttrString(type, texts[i], quick) != 0) {
            Py_XDECREF(quick);
            return NULL;
        }
        Py_DECREF(quick);
    }
    Py_RETURN_NONE;
}

bool py_file_init(void)
{
    for (int i = 0; i < METHODS; i++)
        if ((names[i] = PyUnicode_InternFromString(texts[i])) == NULL)
            return false;
    quick_name = PyUnicode_InternFromString("_quick");
    nothing_name = PyUnicode_InternFromString("_nothing");
    return quick_name != NULL && nothing_name != NULL;
}
