// Package npy reads and writes arrays in NumPy's file format, .npy.
//
// A file is a magic string, the version of the format, the length of a header, the
// header, and the elements. The header is a Python dictionary that says dtype, order
// of the elements and shape. Files of NumPy and of other programs are read in either
// order of elements and of bytes; an [Array] is always row-major and little-endian,
// as package numeric has it, and so are files that are written.
//
// NumPy has no bfloat16: it is written as '<V2', two opaque bytes, as the ml_dtypes
// package for Python does, and what is '<V2', '>V2', '|V2' or 'bfloat16' is read as
// bf16. Bools ('|b1') are u8 of 0 and 1, and Array.Bool says so. Complex numbers, strings, structures and pickled objects are not read.
//
// Archives (.npz), placement of tensors and conversion of values live elsewhere. The
// package imports numeric for dtypes, and the standard library.
package npy
