package npy

import (
	"bytes"
	"encoding/binary"
	"os"
	"slices"
	"testing"

	"github.com/kernbench/kernbench/internal/rapidtest"
)

func TestMain(m *testing.M) { os.Exit(rapidtest.Main(m)) }

// file returns a .npy file of the given major version of the format. `text` is its header,
// and `data` has its elements.
func file(major byte, text, data string) []byte {
	b := []byte{0x93, 'N', 'U', 'M', 'P', 'Y', major, 0}
	if major == 1 {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(text)))
	} else {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(text)))
	}
	return append(append(b, text...), data...)
}

func encode(t interface{ Fatal(...any) }, a *Array) []byte {
	var b bytes.Buffer
	if err := Write(&b, a); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func equal(a, b *Array) bool {
	return slices.Equal(a.Shape, b.Shape) && a.DType == b.DType && bytes.Equal(a.Bytes, b.Bytes)
}
