/* Calls compiled kernels: checks each argument, releases the lock, and owns the memory that kernels allocate.

   `kernels` is written by compile.py. Everything of Python is declared here: it is its stable ABI, so that one library
   serves every version from 3.11, and the headers of Python need not be installed. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef intptr_t Py_ssize_t;
typedef struct { Py_ssize_t references; void *type; } PyObject;
typedef struct {
    void *buf; PyObject *obj; Py_ssize_t len, itemsize; int readonly, ndim;
    char *format; Py_ssize_t *shape, *strides, *suboffsets; void *internal;
} Py_buffer;
typedef struct { const char *name; void *function; int flags; const char *doc; } PyMethodDef;
typedef struct {
    PyObject head; void *init; Py_ssize_t index; PyObject *copy;
    const char *name, *doc; Py_ssize_t size; PyMethodDef *methods; void *slots, *traverse, *clear, *free;
} PyModuleDef;
extern PyObject _Py_NoneStruct, _Py_TrueStruct, _Py_NotImplementedStruct;
extern char PyBool_Type, PyFloat_Type, PyLong_Type, PyTuple_Type; /* only their addresses are used */
int PyArg_ParseTuple(PyObject *, const char *, ...);
PyObject *PyBool_FromLong(long);
int PyBuffer_IsContiguous(const Py_buffer *, char);
void PyBuffer_Release(Py_buffer *);
PyObject *PyBytes_FromStringAndSize(const char *, Py_ssize_t);
PyObject *PyByteArray_FromStringAndSize(const char *, Py_ssize_t);
void *PyCapsule_GetPointer(PyObject *, const char *);
PyObject *PyCapsule_New(void *, const char *, void *);
PyObject *PyCFunction_NewEx(PyMethodDef *, PyObject *, PyObject *);
int PyDict_SetItemString(PyObject *, const char *, PyObject *);
PyObject *PyDict_New(void);
void PyErr_Clear(void);
PyObject *PyErr_Format(PyObject *, const char *, ...);
PyObject *PyErr_Occurred(void);
void *PyEval_SaveThread(void);
void PyEval_RestoreThread(void *);
double PyFloat_AsDouble(PyObject *);
PyObject *PyFloat_FromDouble(double);
long long PyLong_AsLongLong(PyObject *);
PyObject *PyLong_FromLongLong(long long);
PyObject *PyLong_FromUnsignedLongLong(unsigned long long);
int PyModule_AddStringConstant(PyObject *, const char *, const char *);
PyObject *PyModule_Create2(PyModuleDef *, int);
PyObject *PyObject_CallFunction(PyObject *, const char *, ...);
int PyObject_GetBuffer(PyObject *, Py_buffer *, int);
PyObject *PyTuple_GetItem(PyObject *, Py_ssize_t);
PyObject *PyTuple_New(Py_ssize_t);
int PyTuple_SetItem(PyObject *, Py_ssize_t, PyObject *);
Py_ssize_t PyTuple_Size(PyObject *);
int PyType_IsSubtype(void *, void *);
void Py_DecRef(PyObject *);
void Py_IncRef(PyObject *);
enum { FASTCALL = 0x80, VARARGS = 1, STRIDES_AND_FORMAT = 0x1c, API_VERSION = 1013, MAX_DEPTH = 8 };

/* --- What numba's runtime provides: memory with a count of references, which compiled code counts itself. */

typedef void Destructor(void *data, size_t size, void *information);
typedef struct { size_t references; Destructor *destructor; void *information, *data; size_t size; void *allocator; } Memory;

Memory *NRT_MemInfo_alloc_aligned(size_t size, uint32_t alignment)
{
    Memory *memory = size > SIZE_MAX / 2 ? NULL : malloc(sizeof(Memory) + alignment + size);
    if (memory == NULL)
        return NULL;
    uintptr_t start = (uintptr_t)(memory + 1);
    *memory = (Memory){1, NULL, NULL, (void *)((start + alignment - 1) / alignment * alignment), size, NULL};
    return memory;
}

Memory *NRT_MemInfo_alloc_safe_aligned(size_t size, uint32_t alignment) { return NRT_MemInfo_alloc_aligned(size, alignment); }

Memory *NRT_MemInfo_new_varsize_dtor(size_t size, Destructor *destructor) /* of a list */
{
    Memory *memory = NRT_MemInfo_alloc_aligned(size, 16);
    if (memory)
        memory->destructor = destructor;
    return memory;
}

void NRT_MemInfo_call_dtor(Memory *memory)
{
    if (memory->destructor)
        memory->destructor(memory->data, memory->size, NULL);
    free(memory);
}

/* Compute the strides of an array that is given other dimensions, which its memory must be in order for. */
int numba_attempt_nocopy_reshape(Py_ssize_t ndim, const Py_ssize_t *shape, const Py_ssize_t *strides, Py_ssize_t new_ndim,
                                 const Py_ssize_t *new_shape, Py_ssize_t *new_strides, Py_ssize_t size, int fortran)
{
    Py_ssize_t step = size;
    for (Py_ssize_t d = ndim - 1; d >= 0; step *= shape[d--])
        if (shape[d] != 1 && strides[d] != step)
            return 0;
    step = size;
    for (Py_ssize_t d = new_ndim - 1; d >= 0; step *= new_shape[d--])
        new_strides[d] = step;
    return !fortran;
}

/* --- The table of kernels. A type is four characters: kind and bytes of a number as in NumPy, dimensions, and access:
   w is written, s may be strided, b is both. */

typedef struct { const char *bytes; int32_t size; } Failure; /* a pickled exception of numba, which is not read */
typedef int32_t Code(const uint64_t *arguments, uint64_t *results, const Failure **failure);
typedef struct { const char *arguments, *results; Code *code[LEVELS]; } Signature;
typedef struct { const char *name; int n_signatures; const Signature *signatures; } Kernel;
extern const Kernel kernels[]; /* the last one has no name */
extern const char levels[LEVELS][8], digest[];
static int level;
static PyObject *array_type, *error_type, *memory_error_type;

/* --- Arguments: tuples, named or not, are taken apart; what remains are arrays and numbers. */

typedef struct { char kind, bytes, ndim; int contiguous; uint64_t bits; Py_buffer view; } Value;
typedef struct { int n; Value values[MAX_VALUES]; } Arguments;

static void release(Arguments *arguments)
{
    for (int i = 0; i < arguments->n; i++)
        if (arguments->values[i].view.obj)
            PyBuffer_Release(&arguments->values[i].view);
}

static uint64_t extended(const void *from, char kind, Py_ssize_t size)
{
    int64_t i = *(const int8_t *)from;
    uint64_t bits = 0;
    memcpy(&bits, from, size);
    if (kind == 'i')
        bits = size == 1 ? (uint64_t)i : size == 2 ? (uint64_t)(int64_t)(int16_t)bits : size == 4 ? (uint64_t)(int64_t)(int32_t)bits : bits;
    return bits;
}

/* Fill in an array, or a number of NumPy, which is an array without dimensions. */
static int read_array(PyObject *object, Value *value)
{
    Py_buffer *view = &value->view;
    if (PyObject_GetBuffer(object, view, STRIDES_AND_FORMAT) < 0) {
        view->obj = NULL;
        PyErr_Clear();
        return 0;
    }
    const char *format = view->format ? view->format : "B";
    value->kind = strchr("bhilq", *format) ? 'i' : strchr("BHILQ", *format) ? 'u' : strchr("fd", *format) ? 'f' : *format == '?' ? 'b' : 0;
    if (!*format || format[1] || !value->kind || view->itemsize > 8 || view->ndim > 9 || (uintptr_t)view->buf % view->itemsize)
        return 0; /* records, texts, other byte orders, and what is not aligned */
    for (int d = 0; d < view->ndim; d++)
        if (view->strides[d] % view->itemsize)
            return 0;
    value->bytes = '0' + view->itemsize;
    value->ndim = '0' + view->ndim;
    value->contiguous = PyBuffer_IsContiguous(view, 'C');
    value->bits = view->ndim ? 0 : extended(view->buf, value->kind, view->itemsize);
    return 1;
}

static int read(PyObject *object, Arguments *arguments, int depth)
{
    if (PyType_IsSubtype(object->type, &PyTuple_Type)) {
        for (Py_ssize_t i = 0; i < PyTuple_Size(object); i++)
            if (!depth || !read(PyTuple_GetItem(object, i), arguments, depth - 1))
                return 0;
        return 1;
    }
    if (arguments->n == MAX_VALUES)
        return 0;
    Value *value = &arguments->values[arguments->n++];
    *value = (Value){.bytes = '8', .ndim = '0'};
    if (object->type == &PyLong_Type) {
        value->kind = 'i';
        value->bits = PyLong_AsLongLong(object);
    } else if (object->type == &PyFloat_Type) {
        double number = PyFloat_AsDouble(object);
        value->kind = 'f';
        memcpy(&value->bits, &number, 8);
    } else if (object->type == &PyBool_Type) {
        value->kind = 'b';
        value->bytes = '1';
        value->bits = object == &_Py_TrueStruct;
    } else
        return read_array(object, value);
    if (PyErr_Occurred()) { /* more than 64 bits */
        PyErr_Clear();
        return 0;
    }
    return 1;
}

static int fits(const Arguments *arguments, const char *types)
{
    if (strlen(types) != 4 * (size_t)arguments->n)
        return 0;
    for (const Value *value = arguments->values; *types; value++, types += 4) {
        if (value->kind != types[0] || value->bytes != types[1] || value->ndim != types[2])
            return 0;
        int strided = types[3] == 's' || types[3] == 'b', written = types[3] == 'w' || types[3] == 'b';
        if (value->ndim != '0' && ((written && value->view.readonly) || (!strided && !value->contiguous)))
            return 0;
    }
    return 1;
}

/* Lay out the arguments as compiled code takes them, in units of 8 bytes. */
static void pack(const Arguments *arguments, uint64_t *slot)
{
    for (int i = 0; i < arguments->n; i++) {
        const Py_buffer *view = &arguments->values[i].view;
        if (arguments->values[i].ndim == '0') {
            *slot++ = arguments->values[i].bits;
            continue;
        }
        *slot++ = 0; /* the count of references: the caller holds the array */
        *slot++ = 0; /* the object that owns it */
        *slot++ = view->len / view->itemsize;
        *slot++ = view->itemsize;
        *slot++ = (uintptr_t)view->buf;
        for (int d = 0; d < view->ndim; d++)
            *slot++ = view->shape[d];
        for (int d = 0; d < view->ndim; d++)
            *slot++ = view->strides[d];
    }
}

/* --- Results: numbers as Python's, arrays as NumPy's with memory of their own. */

static PyObject *number(char kind, int size, uint64_t bits)
{
    if (kind == 'f') {
        double wide;
        float narrow;
        memcpy(&wide, &bits, 8);
        memcpy(&narrow, &bits, 4);
        return PyFloat_FromDouble(size == 8 ? wide : narrow);
    }
    if (kind == 'b')
        return PyBool_FromLong(bits & 1);
    bits = extended(&bits, kind, size);
    return kind == 'i' ? PyLong_FromLongLong(bits) : PyLong_FromUnsignedLongLong(bits);
}

static PyObject *array(const char *type, int ndim, const uint64_t *slot)
{
    Memory *memory = (Memory *)slot[0];
    PyObject *result = NULL, *shape = PyTuple_New(ndim);
    PyObject *bytes = PyByteArray_FromStringAndSize((char *)slot[4], slot[2] * slot[3]);
    const char spelling[3] = {type[0], type[1], 0};
    for (int d = 0; shape && d < ndim; d++)
        PyTuple_SetItem(shape, d, PyLong_FromLongLong(slot[5 + d]));
    if (shape && bytes)
        result = PyObject_CallFunction(array_type, "OsO", shape, spelling, bytes);
    if (shape)
        Py_DecRef(shape);
    if (bytes)
        Py_DecRef(bytes);
    if (memory && __atomic_sub_fetch(&memory->references, 1, __ATOMIC_ACQ_REL) == 0)
        NRT_MemInfo_call_dtor(memory);
    return result;
}

static PyObject *result_of(const char *type, const uint64_t **slot)
{
    int ndim = type[2] - '0';
    const uint64_t *start = *slot;
    *slot += ndim ? 5 + 2 * ndim : 1;
    return ndim ? array(type, ndim, start) : number(type[0], type[1] - '0', *start);
}

static PyObject *results_of(const Signature *signature, const uint64_t *slot)
{
    const char *types = signature->results;
    if (!*types) {
        Py_IncRef(&_Py_NoneStruct);
        return &_Py_NoneStruct;
    }
    if (!types[4])
        return result_of(types, &slot);
    PyObject *tuple = PyTuple_New(strlen(types) / 4);
    for (int i = 0; tuple && types[4 * i]; i++)
        PyTuple_SetItem(tuple, i, result_of(types + 4 * i, &slot));
    if (tuple && PyErr_Occurred()) {
        Py_DecRef(tuple);
        return NULL;
    }
    return tuple;
}

static int is_about_memory(const Failure *failure)
{
    static const char name[] = "MemoryError";
    for (int i = 0; i + (int)sizeof(name) - 1 <= failure->size; i++)
        if (!memcmp(failure->bytes + i, name, sizeof(name) - 1))
            return 1;
    return 0;
}

static PyObject *run(const char *name, const Signature *signature, const Arguments *arguments)
{
    uint64_t slots[MAX_UNITS], results[MAX_RESULTS] = {0};
    const Failure *failure = NULL;
    pack(arguments, slots);
    void *thread = PyEval_SaveThread();
    int32_t status = signature->code[level](slots, results, &failure);
    PyEval_RestoreThread(thread);
    if (status == 0 || status == -2) /* a result, or None */
        return results_of(signature, results);
    if (failure && is_about_memory(failure))
        return PyErr_Format(memory_error_type, "There is not enough memory for the kernel %s.", name);
    return PyErr_Format(error_type, "The kernel %s cannot work on these numbers and arrays: they do not belong together.", name);
}

/* --- What Python sees: load(), and a function for each kernel. It returns NotImplemented for arguments that the kernel
   was not compiled for. */

static PyObject *call(PyObject *self, PyObject *const *objects, Py_ssize_t n)
{
    const Kernel *kernel = PyCapsule_GetPointer(self, NULL);
    PyObject *result = &_Py_NotImplementedStruct;
    Arguments arguments;
    int readable = 1;
    arguments.n = 0;
    for (Py_ssize_t i = 0; readable && i < n; i++)
        readable = read(objects[i], &arguments, MAX_DEPTH);
    int found = 0;
    while (readable && found < kernel->n_signatures && !fits(&arguments, kernel->signatures[found].arguments))
        found++;
    if (readable && found < kernel->n_signatures)
        result = run(kernel->name, &kernel->signatures[found], &arguments);
    else
        Py_IncRef(result);
    release(&arguments);
    return result;
}

#if defined(__x86_64__)
#include <cpuid.h>
/* Return whether the processor has what x86-64-v3 has beyond v2, and the system saves its registers. */
static int has_v3(void)
{
    unsigned a, b, c, d, e;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & 0x38401000) != 0x38401000) /* f16c, avx, osxsave, movbe, fma */
        return 0;
    __asm__("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
    if ((a & 6) != 6 || !__get_cpuid_count(7, 0, &a, &b, &e, &d) || (b & 0x128) != 0x128) /* avx2, bmi1, bmi2 */
        return 0;
    return __get_cpuid(0x80000001, &a, &b, &c, &d) && (c & 0x20); /* lzcnt */
}
#else
static int has_v3(void) { return 0; }
#endif

/* load(level, type of arrays, of errors, and of those about memory) -> kernels by name; the level "" is the best that this processor can run. */
static PyObject *load(PyObject *self, PyObject *given)
{
    static PyMethodDef method = {"kernel", call, FASTCALL, NULL};
    const char *wanted;
    (void)self;
    if (!PyArg_ParseTuple(given, "sOOO", &wanted, &array_type, &error_type, &memory_error_type))
        return NULL;
    Py_IncRef(array_type);
    Py_IncRef(error_type);
    Py_IncRef(memory_error_type);
    for (level = LEVELS - 1; level >= 0; level--)
        if (*wanted ? !strcmp(wanted, levels[level]) : strcmp(levels[level], "v3") || has_v3())
            break;
    PyObject *found = PyDict_New();
    for (const Kernel *kernel = kernels; found && level >= 0 && kernel->name; kernel++) {
        PyObject *capsule = PyCapsule_New((void *)kernel, NULL, NULL);
        PyObject *function = capsule ? PyCFunction_NewEx(&method, capsule, NULL) : NULL;
        if (!function || PyDict_SetItemString(found, kernel->name, function) < 0)
            return NULL;
        Py_DecRef(capsule);
        Py_DecRef(function);
    }
    return found;
}

__attribute__((visibility("default"))) PyObject *PyInit_library(void)
{
    static PyMethodDef methods[] = {{"load", load, VARARGS, NULL}, {NULL, NULL, 0, NULL}};
    static PyModuleDef definition = {{1, NULL}, NULL, 0, NULL, "library", NULL, -1, methods, NULL, NULL, NULL, NULL};
    PyObject *module = PyModule_Create2(&definition, API_VERSION);
    if (module)
        PyModule_AddStringConstant(module, "digest", digest);
    return module;
}
