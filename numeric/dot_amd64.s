#include "go_asm.h"
#include "textflag.h"

// ROW multiplies one value of a, at address x, by the 16 values of b in Y8 and Y9, and adds
// the products to the sums lo and hi. It rounds each product before it adds it: no FMA.
#define ROW(x, lo, hi) \
	VBROADCASTSS x, Y10 \
	VMULPS Y8, Y10, Y11 \
	VMULPS Y9, Y10, Y12 \
	VADDPS Y11, lo, lo \
	VADDPS Y12, hi, hi

#define LOAD(at, lo, hi) \
	VMOVUPS at, lo \
	VMOVUPS 32 at, hi

// STORE writes two vectors of sums, with the NaN of Y15 in place of every NaN.
#define STORE(lo, hi, at) \
	VCMPPS $3, lo, lo, Y10 \
	VCMPPS $3, hi, hi, Y11 \
	VBLENDVPS Y10, Y15, lo, lo \
	VBLENDVPS Y11, Y15, hi, hi \
	VMOVUPS lo, at \
	VMOVUPS hi, 32 at

// func dotF32(sums *byte, stride int, a, b *float32, rows, depth int)
//
// It processes four rows at a time, with their sums in Y0 to Y7, and then the remaining
// rows one by one.
TEXT ·dotF32(SB), NOSPLIT, $0-48
	MOVL $const_nanF32, AX
	VMOVD AX, X15
	VPBROADCASTD X15, Y15
	MOVQ sums+0(FP), DI
	MOVQ stride+8(FP), R8
	MOVQ a+16(FP), SI
	MOVQ rows+32(FP), DX
	MOVQ depth+40(FP), R9
	SHLQ $2, R9               // size of a row of a in bytes
	LEAQ (R8)(R8*2), R10      // size of three rows of sums
	LEAQ (R9)(R9*2), R11      // size of three rows of a
	SUBQ $4, DX
	JLT  single

four:
	LOAD((DI), Y0, Y1)
	LOAD((DI)(R8*1), Y2, Y3)
	LOAD((DI)(R8*2), Y4, Y5)
	LOAD((DI)(R10*1), Y6, Y7)
	MOVQ b+24(FP), BX
	MOVQ depth+40(FP), CX

fourLoop:
	VMOVUPS (BX), Y8
	VMOVUPS 32(BX), Y9
	ROW((SI), Y0, Y1)
	ROW((SI)(R9*1), Y2, Y3)
	ROW((SI)(R9*2), Y4, Y5)
	ROW((SI)(R11*1), Y6, Y7)
	ADDQ $4, SI
	ADDQ $(4*const_dotPitch), BX
	DECQ CX
	JNZ  fourLoop

	STORE(Y0, Y1, (DI))
	STORE(Y2, Y3, (DI)(R8*1))
	STORE(Y4, Y5, (DI)(R8*2))
	STORE(Y6, Y7, (DI)(R10*1))
	LEAQ (DI)(R8*4), DI
	ADDQ R11, SI              // the loop has advanced by one row: skip three
	SUBQ $4, DX
	JGE  four

single:
	ADDQ $4, DX
	JZ   done

singleRow:
	LOAD((DI), Y0, Y1)
	MOVQ b+24(FP), BX
	MOVQ depth+40(FP), CX

singleLoop:
	VMOVUPS (BX), Y8
	VMOVUPS 32(BX), Y9
	ROW((SI), Y0, Y1)
	ADDQ $4, SI
	ADDQ $(4*const_dotPitch), BX
	DECQ CX
	JNZ  singleLoop

	STORE(Y0, Y1, (DI))
	ADDQ R8, DI
	DECQ DX
	JNZ  singleRow

done:
	VZEROUPPER
	RET
