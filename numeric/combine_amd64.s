#include "go_asm.h"
#include "textflag.h"

// The loops of this file process four vectors at a time. The operands are in Y0 to Y3 and
// in Y4 to Y7, the results in Y0 to Y3. Y8 to Y10 are temporaries, Y15 holds the NaN to
// write, and Y12 to Y14 hold constants for bf16.

#define NANS32 \
	MOVL $const_nanF32, AX \
	VMOVD AX, X15 \
	VPBROADCASTD X15, Y15

#define NANS64 \
	MOVQ $const_nanF64, AX \
	VMOVQ AX, X15 \
	VPBROADCASTQ X15, Y15

// HALVES sets the constants for bf16. Rounding adds the lowest kept bit (mask Y14) and
// 0x7fff (Y13), just under half of that bit. Y12 masks the half of a word that bf16 keeps.
#define HALVES \
	VPCMPEQD Y12, Y12, Y12 \
	VPSRLD $31, Y12, Y14 \
	VPSRLD $17, Y12, Y13 \
	VPSLLD $16, Y12, Y12

// Operations: they set x to op of x and y, or to a NaN where an operand or the result is
// NaN.
//
// For equal or unordered operands, the instructions for maxima and minima return the
// second operand. Therefore both orders are computed. For ordered operands, the two
// results differ at most in the sign of zero: "and" gives +0, "or" gives -0. For unordered
// operands, one of the results is NaN. "or" keeps the NaN. "and" may not, so maxima
// set all bits where the operands are unordered.

#define ADD32(x, y) VADDPS y, x, x
#define SUB32(x, y) VSUBPS y, x, x
#define MUL32(x, y) VMULPS y, x, x
#define DIV32(x, y) VDIVPS y, x, x
#define MAX32(x, y) \
	VMAXPS y, x, Y8 \
	VMAXPS x, y, Y9 \
	VCMPPS $3, y, x, Y10 \
	VANDPS Y8, Y9, x \
	VORPS Y10, x, x
#define MIN32(x, y) \
	VMINPS y, x, Y8 \
	VMINPS x, y, Y9 \
	VORPS Y8, Y9, x

#define ADD64(x, y) VADDPD y, x, x
#define SUB64(x, y) VSUBPD y, x, x
#define MUL64(x, y) VMULPD y, x, x
#define DIV64(x, y) VDIVPD y, x, x
#define MAX64(x, y) \
	VMAXPD y, x, Y8 \
	VMAXPD x, y, Y9 \
	VCMPPD $3, y, x, Y10 \
	VANDPD Y8, Y9, x \
	VORPD Y10, x, x
#define MIN64(x, y) \
	VMINPD y, x, Y8 \
	VMINPD x, y, Y9 \
	VORPD Y8, Y9, x

#define ADDI32(x, y) VPADDD y, x, x
#define MAXI32(x, y) VPMAXSD y, x, x
#define MINI32(x, y) VPMINSD y, x, x
#define ADDI64(x, y) VPADDQ y, x, x

// NAN32 and NAN64 replace every NaN by that in Y15. NaNs are rare: a test of all four
// vectors, two in each comparison, skips the replacement.

#define ONE32(x) VCMPPS $3, x, x, Y4; VBLENDVPS Y4, Y15, x, x
#define NAN32 \
	VCMPPS $3, Y1, Y0, Y4 \
	VCMPPS $3, Y3, Y2, Y5 \
	VORPS Y4, Y5, Y4 \
	VMOVMSKPS Y4, AX \
	TESTL AX, AX \
	JEQ ready \
	ONE32(Y0) \
	ONE32(Y1) \
	ONE32(Y2) \
	ONE32(Y3)

#define ONE64(x) VCMPPD $3, x, x, Y4; VBLENDVPD Y4, Y15, x, x
#define NAN64 \
	VCMPPD $3, Y1, Y0, Y4 \
	VCMPPD $3, Y3, Y2, Y5 \
	VORPD Y4, Y5, Y4 \
	VMOVMSKPD Y4, AX \
	TESTL AX, AX \
	JEQ ready \
	ONE64(Y0) \
	ONE64(Y1) \
	ONE64(Y2) \
	ONE64(Y3)

#define NONAN

#define LOAD(from, a, b, c, d) \
	VMOVDQU (from), a \
	VMOVDQU 32(from), b \
	VMOVDQU 64(from), c \
	VMOVDQU 96(from), d
#define PACK
#define MOVES(MOVE, to) \
	MOVE Y0, (to) \
	MOVE Y1, 32(to) \
	MOVE Y2, 64(to) \
	MOVE Y3, 96(to)
#define STORE(to) MOVES(VMOVDQU, to)
#define STREAM(to) MOVES(VMOVNTDQ, to)

// The loops over f16 and bf16 are too long for the processor to prefetch far enough ahead.
#define AHEAD(from) PREFETCHT0 1024(from)

#define LOADF16(from, a, b, c, d) \
	AHEAD(from) \
	VCVTPH2PS (from), a \
	VCVTPH2PS 16(from), b \
	VCVTPH2PS 32(from), c \
	VCVTPH2PS 48(from), d
#define STOREF16(to) \
	VCVTPS2PH $0, Y0, (to) \
	VCVTPS2PH $0, Y1, 16(to) \
	VCVTPS2PH $0, Y2, 32(to) \
	VCVTPS2PH $0, Y3, 48(to)
#define STREAMF16(to) \
	VCVTPS2PH $0, Y0, X4 \
	VCVTPS2PH $0, Y1, X5 \
	VCVTPS2PH $0, Y2, X6 \
	VCVTPS2PH $0, Y3, X7 \
	VMOVNTDQ X4, (to) \
	VMOVNTDQ X5, 16(to) \
	VMOVNTDQ X6, 32(to) \
	VMOVNTDQ X7, 48(to)

// LOADBF16 loads elements with even and with odd index into different vectors. Each bf16
// is then one half of its word, and elements need not cross lanes.
#define LOADBF16(from, a, b, c, d) \
	AHEAD(from) \
	VMOVDQU (from), b \
	VMOVDQU 32(from), d \
	VPSLLD $16, b, a \
	VPAND Y12, b, b \
	VPSLLD $16, d, c \
	VPAND Y12, d, d
#define ROUNDBF16(x) \
	VPSRLD $16, x, Y8 \
	VPAND Y14, Y8, Y8 \
	VPADDD Y13, Y8, Y8 \
	VPADDD Y8, x, x
#define PACKBF16 \
	ROUNDBF16(Y0) \
	ROUNDBF16(Y1) \
	ROUNDBF16(Y2) \
	ROUNDBF16(Y3) \
	VPSRLD $16, Y0, Y0 \
	VPSRLD $16, Y2, Y2 \
	VPBLENDW $0xaa, Y1, Y0, Y0 \
	VPBLENDW $0xaa, Y3, Y2, Y2
#define STOREBF16(to) VMOVDQU Y0, (to); VMOVDQU Y2, 32(to)
#define STREAMBF16(to) VMOVNTDQ Y0, (to); VMOVNTDQ Y2, 32(to)

// The branches on the operation, in every iteration, are always predicted and cost nothing
// compared with the loads.

#define FOUR(OP) \
	OP(Y0, Y4) \
	OP(Y1, Y5) \
	OP(Y2, Y6) \
	OP(Y3, Y7)

#define FLOATS(ADD, SUB, MUL, DIV, MAX, MIN) \
	CMPB BX, $const_Add \
	JNE notAdd \
	FOUR(ADD) \
	JMP combined \
notAdd: \
	CMPB BX, $const_Maximum \
	JEQ max \
	CMPB BX, $const_Minimum \
	JEQ min \
	CMPB BX, $const_Mul \
	JEQ mul \
	CMPB BX, $const_Div \
	JEQ div \
	FOUR(SUB) \
	JMP combined \
max: \
	FOUR(MAX) \
	JMP combined \
min: \
	FOUR(MIN) \
	JMP combined \
mul: \
	FOUR(MUL) \
	JMP combined \
div: \
	FOUR(DIV)

#define OPS32 FLOATS(ADD32, SUB32, MUL32, DIV32, MAX32, MIN32)
#define OPS64 FLOATS(ADD64, SUB64, MUL64, DIV64, MAX64, MIN64)

#define OPSI32 \
	CMPB BX, $const_Maximum \
	JEQ max \
	CMPB BX, $const_Minimum \
	JEQ min \
	FOUR(ADDI32) \
	JMP combined \
max: \
	FOUR(MAXI32) \
	JMP combined \
min: \
	FOUR(MINI32)

#define OPSI64 FOUR(ADDI64)

// COMBINE loads the arguments and is the loop and the end of a function.
#define COMBINE(LOAD, OPS, NAN, PACK, STORE, STREAM, bytes) \
	MOVBLZX op+0(FP), BX \
	MOVQ dst+8(FP), DI \
	MOVQ also+16(FP), R8 \
	MOVQ x+24(FP), SI \
	MOVQ y+32(FP), DX \
	MOVQ groups+40(FP), CX \
	MOVBLZX streaming+48(FP), R9 \
	IMULQ $(const_group/bytes), CX \
loop: \
	LOAD(SI, Y0, Y1, Y2, Y3) \
	LOAD(DX, Y4, Y5, Y6, Y7) \
	OPS \
combined: \
	NAN \
ready: \
	PACK \
	TESTL R9, R9 \
	JNE stream \
	STORE(DI) \
	TESTQ R8, R8 \
	JEQ next \
	STORE(R8) \
	ADDQ $bytes, R8 \
	JMP next \
stream: \
	STREAM(DI) \
	TESTQ R8, R8 \
	JEQ next \
	STREAM(R8) \
	ADDQ $bytes, R8 \
next: \
	ADDQ $bytes, SI \
	ADDQ $bytes, DX \
	ADDQ $bytes, DI \
	DECQ CX \
	JNZ loop \
	VZEROUPPER \
	TESTL R9, R9 \
	JEQ done \
	SFENCE \
done: \
	RET

// func combineF16(op Op, dst, also, x, y *byte, groups int, streaming bool)
TEXT ·combineF16(SB), NOSPLIT, $0-49
	NANS32
	COMBINE(LOADF16, OPS32, NAN32, PACK, STOREF16, STREAMF16, 64)

// func combineBF16(op Op, dst, also, x, y *byte, groups int, streaming bool)
TEXT ·combineBF16(SB), NOSPLIT, $0-49
	NANS32
	HALVES
	COMBINE(LOADBF16, OPS32, NAN32, PACKBF16, STOREBF16, STREAMBF16, 64)

// func combineF32(op Op, dst, also, x, y *byte, groups int, streaming bool)
TEXT ·combineF32(SB), NOSPLIT, $0-49
	NANS32
	COMBINE(LOAD, OPS32, NAN32, PACK, STORE, STREAM, 128)

// func combineF64(op Op, dst, also, x, y *byte, groups int, streaming bool)
TEXT ·combineF64(SB), NOSPLIT, $0-49
	NANS64
	COMBINE(LOAD, OPS64, NAN64, PACK, STORE, STREAM, 128)

// func combineI32(op Op, dst, also, x, y *byte, groups int, streaming bool)
TEXT ·combineI32(SB), NOSPLIT, $0-49
	COMBINE(LOAD, OPSI32, NONAN, PACK, STORE, STREAM, 128)

// func combineI64(op Op, dst, also, x, y *byte, groups int, streaming bool)
TEXT ·combineI64(SB), NOSPLIT, $0-49
	COMBINE(LOAD, OPSI64, NONAN, PACK, STORE, STREAM, 128)
