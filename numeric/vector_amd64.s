#include "go_asm.h"
#include "textflag.h"

// Elements are in Y2. Y3 marks those that are NaN. Y15 is the NaN to write.

#define NANS \
	MOVL $const_nanF32, AX \
	VMOVD AX, X15 \
	VPBROADCASTD X15, Y15

// HALVES sets the constants that rounding to bf16 adds: the lowest kept bit (mask Y14) and
// 0x7fff (Y13), just under half of that bit.
#define HALVES \
	MOVL $1, AX \
	VMOVD AX, X14 \
	VPBROADCASTD X14, Y14 \
	MOVL $0x7fff, AX \
	VMOVD AX, X13 \
	VPBROADCASTD X13, Y13

#define LOADF16(from, to) VCVTPH2PS (from), to
#define LOADBF16(from, to) VPMOVZXWD (from), to; VPSLLD $16, to, to
#define LOADF32(from, to) VMOVUPS (from), to

#define STOREF16 VCVTPS2PH $0, Y2, (DI)
#define STOREBF16 \
	VPSRLD $16, Y2, Y3 \
	VPAND Y14, Y3, Y3 \
	VPADDD Y13, Y3, Y3 \
	VPADDD Y3, Y2, Y2 \
	VPSRLD $16, Y2, Y2 \
	VEXTRACTI128 $1, Y2, X3 \
	VPACKUSDW X3, X2, X2 \
	VMOVDQU X2, (DI)
#define STOREF32 VMOVUPS Y2, (DI)

// CONVERT is the loop over the groups and the end of a function.
#define CONVERT(LOAD, from, STORE, to) \
loop: \
	LOAD(SI, Y2) \
	VCMPPS $3, Y2, Y2, Y3 \
	VBLENDVPS Y3, Y15, Y2, Y2 \
	STORE \
	ADDQ $from, SI \
	ADDQ $to, DI \
	DECQ CX \
	JNZ loop \
	VZEROUPPER \
	RET

// func widenF16(dst, src *byte, groups int)
TEXT ·widenF16(SB), NOSPLIT, $0-24
	NANS
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ groups+16(FP), CX
	CONVERT(LOADF16, 16, STOREF32, 32)

// func widenBF16(dst, src *byte, groups int)
TEXT ·widenBF16(SB), NOSPLIT, $0-24
	NANS
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ groups+16(FP), CX
	CONVERT(LOADBF16, 16, STOREF32, 32)

// func narrowF16(dst, src *byte, groups int)
TEXT ·narrowF16(SB), NOSPLIT, $0-24
	NANS
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ groups+16(FP), CX
	CONVERT(LOADF32, 32, STOREF16, 16)

// func narrowBF16(dst, src *byte, groups int)
TEXT ·narrowBF16(SB), NOSPLIT, $0-24
	NANS
	HALVES
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ groups+16(FP), CX
	CONVERT(LOADF32, 32, STOREBF16, 16)

// func cpuid(leaf uint32) (eax, ebx, ecx, edx uint32)
TEXT ·cpuid(SB), NOSPLIT, $0-24
	MOVL leaf+0(FP), AX
	XORL CX, CX
	CPUID
	MOVL AX, eax+8(FP)
	MOVL BX, ebx+12(FP)
	MOVL CX, ecx+16(FP)
	MOVL DX, edx+20(FP)
	RET

// func xgetbv() (xcr0 uint32)
TEXT ·xgetbv(SB), NOSPLIT, $0-4
	XORL CX, CX
	XGETBV
	MOVL AX, xcr0+0(FP)
	RET
