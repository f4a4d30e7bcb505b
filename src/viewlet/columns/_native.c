/* The inner loops of hashing, sorting and finding distinct hashes, one pass each where NumPy takes a dozen.

   Each has an equivalent in NumPy with identical results; `native.py` chooses. Every function takes buffers, writes
   into one that the caller has allocated, and releases Python's lock for long work. */

#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef Py_ssize_t Size;

static const uint64_t PRIME = 0x9E3779B97F4A7C15u, MIX1 = 0xFF51AFD7ED558CCDu, MIX2 = 0xC4CEB9FE1A85EC53u;
static const uint64_t NAN_4 = 0x7FC00000u, NAN_8 = 0x7FF8000000000000u;
enum { MANY = 4096, CROWDED = 48 };

static inline uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 33)) * MIX1;
    x = (x ^ (x >> 33)) * MIX2;
    return x ^ (x >> 33);
}

/* Buffers: as many arguments as a function has. */

static int get(PyObject *object, Py_buffer *view, Size least, int writable) {
    if (PyObject_GetBuffer(object, view, writable ? PyBUF_WRITABLE : PyBUF_SIMPLE) < 0) return -1;
    if (view->len >= least) return 0;
    PyErr_SetString(PyExc_ValueError, "a buffer is too short");
    PyBuffer_Release(view);
    return -1;
}

static int numbers(PyObject *const *args, Size from, Size to, uint64_t *found) {
    for (Size i = from; i < to; i++) {
        found[i - from] = PyLong_AsUnsignedLongLongMask(args[i]);
        if (PyErr_Occurred()) return -1;
    }
    return 0;
}

static int wants(Size given, Size wanted) {
    if (given == wanted) return 1;
    PyErr_Format(PyExc_TypeError, "%zd arguments, not %zd", wanted, given);
    return 0;
}

/* Hashes of values */

static uint64_t bits(const char *at, int width, int is_floating, uint64_t fold) {
    uint64_t low;
    if (width == 8) {
        double value;
        memcpy(&low, at, 8);
        memcpy(&value, at, 8);
        return is_floating && value != value ? NAN_8 : low;
    }
    if (width == 4) {
        uint32_t some;
        float value;
        memcpy(&some, at, 4);
        memcpy(&value, at, 4);
        if (is_floating) return value != value ? NAN_4 : some;
        return (uint64_t)(int64_t)(int32_t)some;
    }
    if (width == 16) {
        uint64_t high;
        memcpy(&low, at, 8);
        memcpy(&high, at + 8, 8);
        return high == (uint64_t)((int64_t)low >> 63) ? low : mix(high ^ fold) + low;
    }
    if (width == 2) {
        int16_t some;
        memcpy(&some, at, 2);
        return (uint64_t)(int64_t)some;
    }
    return (uint64_t)(int64_t)(int8_t)*at;
}

static PyObject *hash_numbers(PyObject *self, PyObject *const *args, Size count) {
    Py_buffer out, values;
    uint64_t n[4]; /* the first value, its width, whether it is floating, the salt */
    (void)self;
    if (!wants(count, 6) || numbers(args, 2, 6, n) < 0 || get(args[0], &out, 0, 1) < 0) return NULL;
    Size length = out.len / 8, width = (Size)n[1];
    if (get(args[1], &values, ((Size)n[0] + length) * width, 0) < 0) {
        PyBuffer_Release(&out);
        return NULL;
    }
    const char *at = (const char *)values.buf + (Size)n[0] * width;
    uint64_t *hashes = out.buf;
    PyThreadState *state = length > MANY ? PyEval_SaveThread() : NULL;
    if (width == 8 && !n[2])
        for (Size i = 0; i < length; i++) hashes[i] = mix(bits(at + 8 * i, 8, 0, 0) + n[3]);
    else if (width == 16)
        for (Size i = 0; i < length; i++) hashes[i] = mix(bits(at + 16 * i, 16, 0, n[3]) + n[3]);
    else
        for (Size i = 0; i < length; i++) hashes[i] = mix(bits(at + width * i, (int)width, (int)n[2], 0) + n[3]);
    if (state) PyEval_RestoreThread(state);
    PyBuffer_Release(&values);
    PyBuffer_Release(&out);
    Py_RETURN_NONE;
}

static uint64_t hash_text(const char *text, Size length, Size room, uint64_t salt) {
    uint64_t sum = (uint64_t)length + salt, place = PRIME, word;
    for (; length > 8; length -= 8, text += 8, room -= 8, place += PRIME) {
        memcpy(&word, text, 8);
        sum += mix(word + place);
    }
    if (length > 0) {
        word = 0;
        if (room >= 8) {
            memcpy(&word, text, 8);
            word &= ~(uint64_t)0 >> (64 - 8 * length);
        } else
            memcpy(&word, text, (size_t)length);
        sum += mix(word + place);
    }
    return mix(sum);
}

static PyObject *hash_texts(PyObject *self, PyObject *const *args, Size count) {
    Py_buffer out, offsets, data;
    uint64_t n[3]; /* the first string, the width of an offset, the salt */
    (void)self;
    if (!wants(count, 6) || numbers(args, 3, 6, n) < 0 || get(args[0], &out, 0, 1) < 0) return NULL;
    Size length = out.len / 8, first = (Size)n[0], wrong = 0;
    if (get(args[1], &offsets, (first + length + 1) * (Size)n[1], 0) < 0) goto no_offsets;
    if (get(args[2], &data, 0, 0) < 0) goto no_data;
    const int32_t *narrow = offsets.buf;
    const int64_t *wide = offsets.buf;
    const char *text = data.buf;
    uint64_t *hashes = out.buf;
    PyThreadState *state = length > MANY ? PyEval_SaveThread() : NULL;
    for (Size i = 0; i < length; i++) {
        int64_t start = n[1] == 4 ? narrow[first + i] : wide[first + i];
        int64_t stop = n[1] == 4 ? narrow[first + i + 1] : wide[first + i + 1];
        if (start < 0 || stop < start || stop > data.len) {
            wrong = 1;
            break;
        }
        hashes[i] = hash_text(text + start, (Size)(stop - start), (Size)(data.len - start), n[2]);
    }
    if (state) PyEval_RestoreThread(state);
    PyBuffer_Release(&data);
    PyBuffer_Release(&offsets);
    PyBuffer_Release(&out);
    if (!wrong) Py_RETURN_NONE;
    PyErr_SetString(PyExc_ValueError, "offsets lie outside of the data");
    return NULL;
no_data:
    PyBuffer_Release(&offsets);
no_offsets:
    PyBuffer_Release(&out);
    return NULL;
}

/* Hashes of rows, from those of their columns */

static PyObject *fold(PyObject *self, PyObject *const *args, Size count) {
    Py_buffer out, column;
    (void)self;
    if (!wants(count, 2) || get(args[0], &out, 0, 1) < 0) return NULL;
    if (get(args[1], &column, out.len, 0) < 0) {
        PyBuffer_Release(&out);
        return NULL;
    }
    uint64_t *hashes = out.buf;
    const uint64_t *more = column.buf;
    Size length = out.len / 8;
    PyThreadState *state = length > MANY ? PyEval_SaveThread() : NULL;
    for (Size i = 0; i < length; i++)
        hashes[i] = mix((((hashes[i] << 29) | (hashes[i] >> 35)) * PRIME) ^ more[i]);
    if (state) PyEval_RestoreThread(state);
    PyBuffer_Release(&column);
    PyBuffer_Release(&out);
    Py_RETURN_NONE;
}

static PyObject *mix_all(PyObject *self, PyObject *const *args, Size count) {
    Py_buffer out, given;
    (void)self;
    if (!wants(count, 2) || get(args[0], &out, 0, 1) < 0) return NULL;
    if (get(args[1], &given, out.len, 0) < 0) {
        PyBuffer_Release(&out);
        return NULL;
    }
    uint64_t *mixed = out.buf;
    const uint64_t *plain = given.buf;
    for (Size i = 0; i < out.len / 8; i++) mixed[i] = mix(plain[i]);
    PyBuffer_Release(&given);
    PyBuffer_Release(&out);
    Py_RETURN_NONE;
}

static PyObject *add_times(PyObject *self, PyObject *const *args, Size count) {
    Py_buffer out, column;
    uint64_t factor;
    (void)self;
    if (!wants(count, 3) || numbers(args, 2, 3, &factor) < 0 || get(args[0], &out, 0, 1) < 0) return NULL;
    if (get(args[1], &column, out.len, 0) < 0) {
        PyBuffer_Release(&out);
        return NULL;
    }
    uint64_t *hashes = out.buf;
    const uint64_t *more = column.buf;
    for (Size i = 0; i < out.len / 8; i++) hashes[i] += more[i] * factor;
    PyBuffer_Release(&column);
    PyBuffer_Release(&out);
    Py_RETURN_NONE;
}

/* The order that sorts hashes: they are uniformly distributed, so their first bits nearly sort them. */

typedef struct {
    uint64_t hash;
    int64_t place;
} Entry;

static int compare(const void *left, const void *right) {
    const Entry *a = left, *b = right;
    if (a->hash != b->hash) return a->hash < b->hash ? -1 : 1;
    return a->place < b->place ? -1 : 1;
}

static void sort_few(Entry *entries, Size length) {
    for (Size i = 1; i < length; i++) {
        Entry entry = entries[i];
        Size at = i;
        for (; at > 0 && entries[at - 1].hash > entry.hash; at--) entries[at] = entries[at - 1];
        entries[at] = entry;
    }
}

static int sort_order(const uint64_t *hashes, int64_t *order, Size length) {
    int width = 1;
    while (width < 16 && ((Size)4 << width) < length) width++;
    int shift = 64 - width;
    Size *ends = calloc(((size_t)1 << width) + 1, sizeof(Size));
    Entry *entries = malloc((size_t)(length ? length : 1) * sizeof(Entry));
    int done = ends && entries;
    if (done) {
        for (Size i = 0; i < length; i++) ends[(hashes[i] >> shift) + 1]++;
        for (Size i = 0; i < (Size)1 << width; i++) ends[i + 1] += ends[i];
        for (Size i = 0; i < length; i++) {
            Size at = ends[hashes[i] >> shift]++;
            entries[at].hash = hashes[i];
            entries[at].place = i;
        }
        for (Size i = 0, start = 0; i < (Size)1 << width; start = ends[i++]) {
            if (ends[i] - start > CROWDED)
                qsort(entries + start, (size_t)(ends[i] - start), sizeof(Entry), compare);
            else
                sort_few(entries + start, ends[i] - start);
        }
        for (Size i = 0; i < length; i++) order[i] = entries[i].place;
    }
    free(ends);
    free(entries);
    return done;
}

static int is_sorted(const uint64_t *hashes, int64_t *order, Size length) {
    for (Size i = 1; i < length; i++)
        if (hashes[i] < hashes[i - 1]) return 0;
    for (Size i = 0; i < length; i++) order[i] = i;
    return 1;
}

static PyObject *order_of(PyObject *self, PyObject *const *args, Size count) {
    Py_buffer out, given;
    (void)self;
    if (!wants(count, 2) || get(args[0], &out, 0, 1) < 0) return NULL;
    if (get(args[1], &given, out.len, 0) < 0) {
        PyBuffer_Release(&out);
        return NULL;
    }
    Size length = out.len / 8;
    PyThreadState *state = length > MANY ? PyEval_SaveThread() : NULL;
    int done = is_sorted(given.buf, out.buf, length) || sort_order(given.buf, out.buf, length);
    if (state) PyEval_RestoreThread(state);
    PyBuffer_Release(&given);
    PyBuffer_Release(&out);
    if (!done) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

/* Searching sorted hashes. They are uniformly distributed, so the place of one can be interpolated from its value; each
   further look takes the root of the distance. A block of probes is processed together, so that their memory fetches
   overlap. What is not found by then is bracketed by steps of doubling length, then by binary search; if many probes
   come in order, each starts where the one before was found. */

typedef struct {
    const char *hashes;
    int width; /* in bytes: whole hashes, or the first halves of them */
    Size length;
    double scale; /* hashes per unit of value */
} Ordered;

enum { BLOCK = 32, LOOKS = 2, SPARSE = 16 };

static inline uint64_t value_at(const Ordered *in, Size at) {
    return in->width == 8 ? ((const uint64_t *)in->hashes)[at] : ((const uint32_t *)in->hashes)[at];
}

static inline Size nearer(const Ordered *in, uint64_t probe, Size from, uint64_t there) {
    double place = (double)from + ((double)probe - (double)there) * in->scale;
    Size at = place <= 0 ? 0 : place >= (double)in->length ? in->length - 1 : (Size)place;
    __builtin_prefetch(in->hashes + at * in->width);
    return at;
}

static Size place_of(const Ordered *in, uint64_t probe, Size near) {
    Size low = 0, high = in->length, step = 1; /* hashes before `low` are less, those from `high` on are not */
    if (value_at(in, near) < probe) {
        for (low = near + 1; low + step < high; low += step, step *= 2)
            if (value_at(in, low + step - 1) >= probe) {
                high = low + step - 1;
                break;
            }
    } else {
        for (high = near; high > step; high -= step, step *= 2)
            if (value_at(in, high - step) < probe) {
                low = high - step + 1;
                break;
            }
    }
    while (low < high) {
        Size middle = low + (high - low) / 2;
        if (value_at(in, middle) < probe)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void places_of(const Ordered *in, const Ordered *probes, Size from, Size count, Size *places) {
    uint64_t first = value_at(in, 0);
    for (Size i = 0; i < count; i++) places[i] = nearer(in, value_at(probes, from + i), 0, first);
    for (int look = 0; look < LOOKS; look++)
        for (Size i = 0; i < count; i++)
            places[i] = nearer(in, value_at(probes, from + i), places[i], value_at(in, places[i]));
    for (Size i = 0; i < count; i++) places[i] = place_of(in, value_at(probes, from + i), places[i]);
}

static void places_after(const Ordered *in, const Ordered *probes, Size from, Size count, Size *places, Size near) {
    for (Size i = 0; i < count; i++) {
        uint64_t probe = value_at(probes, from + i);
        if (from + i > 0 && probe < value_at(probes, from + i - 1)) near = 0;
        near = places[i] = place_of(in, probe, near < in->length ? near : in->length - 1);
    }
}

static Size match(const Ordered *in, const Ordered *probes, int64_t *which, int64_t *at, Size room) {
    Size places[BLOCK], found = 0, near = 0;
    int is_sparse = in->length > SPARSE * probes->length;
    for (Size from = 0; from < probes->length; from += BLOCK) {
        Size count = probes->length - from < BLOCK ? probes->length - from : BLOCK;
        if (is_sparse)
            places_of(in, probes, from, count, places);
        else
            places_after(in, probes, from, count, places, near);
        near = places[count - 1];
        for (Size i = 0; i < count; i++)
            for (Size to = places[i]; to < in->length && value_at(in, to) == value_at(probes, from + i); to++) {
                if (found < room) {
                    which[found] = from + i;
                    at[found] = to;
                }
                found++;
            }
    }
    return found;
}

static PyObject *find(PyObject *self, PyObject *const *args, Size count) {
    Py_buffer which, at, hashes, probes;
    uint64_t width;
    (void)self;
    if (!wants(count, 5) || numbers(args, 4, 5, &width) < 0 || get(args[0], &which, 0, 1) < 0) return NULL;
    if (get(args[1], &at, which.len, 1) < 0) goto no_places;
    if (get(args[2], &hashes, (Size)width, 0) < 0) goto no_hashes;
    if (get(args[3], &probes, 0, 0) < 0) goto no_probes;
    Ordered in = {hashes.buf, (int)width, hashes.len / (Size)width, 0};
    Ordered wanted = {probes.buf, (int)width, probes.len / (Size)width, 0};
    double low = (double)value_at(&in, 0), high = (double)value_at(&in, in.length - 1);
    in.scale = high > low ? (double)(in.length - 1) / (high - low) : 0;
    PyThreadState *state = wanted.length > MANY ? PyEval_SaveThread() : NULL;
    Size found = match(&in, &wanted, which.buf, at.buf, which.len / 8);
    if (state) PyEval_RestoreThread(state);
    PyBuffer_Release(&probes);
    PyBuffer_Release(&hashes);
    PyBuffer_Release(&at);
    PyBuffer_Release(&which);
    return PyLong_FromSsize_t(found);
no_probes:
    PyBuffer_Release(&hashes);
no_hashes:
    PyBuffer_Release(&at);
no_places:
    PyBuffer_Release(&which);
    return NULL;
}

/* Finding distinct hashes: a hash table that numbers them in order of appearance. */

static Size tell_apart(const uint64_t *hashes, Size length, int64_t *first, int64_t *codes) {
    int width = 4;
    while (((Size)1 << width) < 2 * length) width++;
    uint32_t *table = calloc((size_t)1 << width, sizeof(uint32_t));
    if (!table) return -1;
    Size found = 0, last = ((Size)1 << width) - 1;
    for (Size i = 0; i < length; i++) {
        Size at = (Size)((hashes[i] * PRIME) >> (64 - width));
        while (table[at] && hashes[first[table[at] - 1]] != hashes[i]) at = (at + 1) & last;
        if (!table[at]) {
            first[found++] = i;
            table[at] = (uint32_t)found;
        }
        codes[i] = (int64_t)table[at] - 1;
    }
    free(table);
    return found;
}

static PyObject *distinct(PyObject *self, PyObject *const *args, Size count) {
    Py_buffer first, codes, given;
    (void)self;
    if (!wants(count, 3) || get(args[0], &first, 0, 1) < 0) return NULL;
    if (get(args[1], &codes, first.len, 1) < 0) goto no_codes;
    if (get(args[2], &given, first.len, 0) < 0) goto no_hashes;
    Size length = first.len / 8;
    if (length > INT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "too many hashes");
        PyBuffer_Release(&given);
        goto no_hashes;
    }
    PyThreadState *state = length > MANY ? PyEval_SaveThread() : NULL;
    Size found = tell_apart(given.buf, length, first.buf, codes.buf);
    if (state) PyEval_RestoreThread(state);
    PyBuffer_Release(&given);
    PyBuffer_Release(&codes);
    PyBuffer_Release(&first);
    return found < 0 ? PyErr_NoMemory() : PyLong_FromSsize_t(found);
no_hashes:
    PyBuffer_Release(&codes);
no_codes:
    PyBuffer_Release(&first);
    return NULL;
}

#define FUNCTION(name, text) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, text}

static PyMethodDef methods[] = {
    FUNCTION(hash_numbers, "hash_numbers(out, values, first, width, floating, salt): the hash of each value."),
    FUNCTION(hash_texts, "hash_texts(out, offsets, data, first, width, salt): the hash of each string."),
    FUNCTION(fold, "fold(out, hashes): take the hash of a further column into that of each row."),
    FUNCTION(mix_all, "mix_all(out, numbers): spread every bit of each number over all 64."),
    FUNCTION(add_times, "add_times(out, hashes, factor): add the hash of a column, times a factor."),
    FUNCTION(order_of, "order_of(out, hashes): the order in which hashes ascend; equal ones stay in theirs."),
    FUNCTION(find, "find(which, at, hashes, probes, width): all pairs that are equal; how many, also beyond the room."),
    FUNCTION(distinct, "distinct(first, codes, hashes): number the different hashes; how many there are."),
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_native", NULL, 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&module); }
