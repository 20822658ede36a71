package numeric

import (
	"strings"
	"testing"
)

// TestDTypeNumbers checks that dtypes have their fixed numbers, names and properties.
// Existing logs contain the numbers: do not change them.
func TestDTypeNumbers(t *testing.T) {
	names := strings.Fields("f16 bf16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64")
	if len(DTypes) != len(names) {
		t.Fatalf("%d dtypes, want %d", len(DTypes), len(names))
	}
	sizes := []int{2, 2, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8}
	for i, name := range names {
		d := DType(i + 1)
		if d.String() != name || DTypes[i] != d || d.Size() != sizes[i] || !d.Valid() {
			t.Errorf("dtype %d is %v of %d bytes, want %s of %d", i+1, d, d.Size(), name, sizes[i])
		}
		if d.IsFloat() != (i < 4) || d.IsSigned() != (i < 8) {
			t.Errorf("%v: float %v, signed %v", d, d.IsFloat(), d.IsSigned())
		}
		if parsed, err := ParseDType(name); parsed != d || err != nil {
			t.Errorf("ParseDType(%q) is %v, %v, want %v", name, parsed, err, d)
		}
	}
	for _, name := range []string{"", "F16", "f8", "DType(0)"} {
		if d, err := ParseDType(name); err == nil || !strings.Contains(err.Error(), "bf16") {
			t.Errorf("ParseDType(%q) is %v, error %v, want one that lists the names", name, d, err)
		}
	}
	if DType(0).Valid() || DType(13).Valid() || DType(13).String() != "DType(13)" {
		t.Errorf("dtypes 0 and 13 are %v and %v, want neither to be valid", DType(0), DType(13))
	}
}

// TestOpNumbers checks that operations have their fixed numbers, names and properties.
// Existing logs contain the numbers: do not change them.
func TestOpNumbers(t *testing.T) {
	names := strings.Fields("add sub mul div maximum minimum lt le gt ge eq ne neg abs exp log sqrt rsqrt sigmoid tanh fma clamp where sum max min softmax bit_and bit_or bit_xor")
	arity := []int{2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 3, 1, 1, 1, 1, 2, 2, 2}
	floatOnly, intOnly := " exp log sqrt rsqrt sigmoid tanh softmax ", " bit_and bit_or bit_xor "
	notElementwise := " sum max min softmax "
	for i, name := range names {
		op := Op(i + 1)
		if op.String() != name || op.Arity() != arity[i] || !op.Valid() {
			t.Errorf("operation %d is %v of %d operands, want %s of %d", i+1, op, op.Arity(), name, arity[i])
		}
		if got, want := op.IsElementwise(), !strings.Contains(notElementwise, " "+name+" "); got != want {
			t.Errorf("IsElementwise of %v is %v, want %v", op, got, want)
		}
		for _, d := range DTypes {
			no := floatOnly
			if d.IsFloat() {
				no = intOnly
			}
			if got, want := Supports(op, d), !strings.Contains(no, " "+name+" "); got != want {
				t.Errorf("Supports(%v, %v) is %v, want %v", op, d, got, want)
			}
		}
	}
	if end := Op(len(names) + 1); end.Valid() || Op(0).Valid() || Supports(0, F16) || Supports(Add, 0) || Supports(BitXor, 0) || end.IsElementwise() || end.String() != "Op(31)" {
		t.Errorf("operations 0 and %d are %v and %v, want neither to be valid", len(names)+1, Op(0), end)
	}
}
