// Package npy reads and writes arrays in NumPy's file format, .npy.
//
// A file consists of a magic string, the version of the format, the length of the header,
// the header, and the elements. The header is a Python dictionary with the dtype, the
// order of the elements and the shape. Read accepts files of NumPy and of other programs
// in either order of elements and of bytes. An [Array] is always row-major and
// little-endian, as in package numeric, and so are the files that Write writes.
//
// NumPy has no bfloat16. It is written as '<V2', two opaque bytes, as the ml_dtypes
// package for Python does; '<V2', '>V2', '|V2' and 'bfloat16' are read as bf16. Bools
// ('|b1') are read as u8 with the values 0 and 1, and Array.Bool is set. Complex numbers,
// strings, structures and pickled objects are not supported.
//
// Other packages handle archives (.npz), the placement of tensors and the conversion of
// values. This package imports numeric, for dtypes, and the standard library.
package npy
