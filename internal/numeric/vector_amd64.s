#include "go_asm.h"
#include "textflag.h"

// Results in Y2 with Y3 set where they are NaN; Y15 is the NaN to write. Operands
// are in Y0 and Y1.

#define NANS \
	MOVL $const_nanF32, AX \
	VMOVD AX, X15 \
	VPBROADCASTD X15, Y15

// Y14 and Y13 are what rounding to bf16 adds: the last digit kept, and just under
// half of it.
#define HALVES \
	MOVL $1, AX \
	VMOVD AX, X14 \
	VPBROADCASTD X14, Y14 \
	MOVL $0x7fff, AX \
	VMOVD AX, X13 \
	VPBROADCASTD X13, Y13

#define ADD VADDPS Y1, Y0, Y2; VCMPPS $3, Y2, Y2, Y3
#define SUB VSUBPS Y1, Y0, Y2; VCMPPS $3, Y2, Y2, Y3
#define MUL VMULPS Y1, Y0, Y2; VCMPPS $3, Y2, Y2, Y3
#define DIV VDIVPS Y1, Y0, Y2; VCMPPS $3, Y2, Y2, Y3

// Of equal operands the instructions return the second, hence both orders: they
// differ at most in the sign of zero.
#define MAX VMAXPS Y1, Y0, Y2; VMAXPS Y0, Y1, Y3; VANDPS Y2, Y3, Y2; VCMPPS $3, Y1, Y0, Y3
#define MIN VMINPS Y1, Y0, Y2; VMINPS Y0, Y1, Y3; VORPS Y2, Y3, Y2; VCMPPS $3, Y1, Y0, Y3

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

// COMBINE is a loop over the groups, and the end of the function.
#define COMBINE(label, LOAD, OP, STORE, bytes) \
label: \
	LOAD(SI, Y0) \
	LOAD(DX, Y1) \
	OP \
	VBLENDVPS Y3, Y15, Y2, Y2 \
	STORE \
	ADDQ $bytes, SI \
	ADDQ $bytes, DX \
	ADDQ $bytes, DI \
	DECQ CX \
	JNZ label \
	VZEROUPPER \
	RET

#define DISPATCH \
	CMPB AL, $const_Add \
	JEQ add \
	CMPB AL, $const_Sub \
	JEQ sub \
	CMPB AL, $const_Mul \
	JEQ mul \
	CMPB AL, $const_Div \
	JEQ div \
	CMPB AL, $const_Maximum \
	JEQ max \
	JMP min

// func combineF16(op Op, dst, x, y *byte, groups int)
TEXT ·combineF16(SB), NOSPLIT, $0-40
	NANS
	MOVQ dst+8(FP), DI
	MOVQ x+16(FP), SI
	MOVQ y+24(FP), DX
	MOVQ groups+32(FP), CX
	MOVB op+0(FP), AX
	DISPATCH
	COMBINE(add, LOADF16, ADD, STOREF16, 16)
	COMBINE(sub, LOADF16, SUB, STOREF16, 16)
	COMBINE(mul, LOADF16, MUL, STOREF16, 16)
	COMBINE(div, LOADF16, DIV, STOREF16, 16)
	COMBINE(max, LOADF16, MAX, STOREF16, 16)
	COMBINE(min, LOADF16, MIN, STOREF16, 16)

// func combineBF16(op Op, dst, x, y *byte, groups int)
TEXT ·combineBF16(SB), NOSPLIT, $0-40
	NANS
	HALVES
	MOVQ dst+8(FP), DI
	MOVQ x+16(FP), SI
	MOVQ y+24(FP), DX
	MOVQ groups+32(FP), CX
	MOVB op+0(FP), AX
	DISPATCH
	COMBINE(add, LOADBF16, ADD, STOREBF16, 16)
	COMBINE(sub, LOADBF16, SUB, STOREBF16, 16)
	COMBINE(mul, LOADBF16, MUL, STOREBF16, 16)
	COMBINE(div, LOADBF16, DIV, STOREBF16, 16)
	COMBINE(max, LOADBF16, MAX, STOREBF16, 16)
	COMBINE(min, LOADBF16, MIN, STOREBF16, 16)

// func combineF32(op Op, dst, x, y *byte, groups int)
TEXT ·combineF32(SB), NOSPLIT, $0-40
	NANS
	MOVQ dst+8(FP), DI
	MOVQ x+16(FP), SI
	MOVQ y+24(FP), DX
	MOVQ groups+32(FP), CX
	MOVB op+0(FP), AX
	DISPATCH
	COMBINE(add, LOADF32, ADD, STOREF32, 32)
	COMBINE(sub, LOADF32, SUB, STOREF32, 32)
	COMBINE(mul, LOADF32, MUL, STOREF32, 32)
	COMBINE(div, LOADF32, DIV, STOREF32, 32)
	COMBINE(max, LOADF32, MAX, STOREF32, 32)
	COMBINE(min, LOADF32, MIN, STOREF32, 32)

// CONVERT is a loop over the groups, and the end of the function.
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
