// Runs in: nowhere. The bytes of the init program, for launch.cc.
    .section .rodata
    .globl cordon_init_image
    .globl cordon_init_image_end
cordon_init_image:
    .incbin CORDON_INIT_PROGRAM
cordon_init_image_end:
    .section .note.GNU-stack, "", %progbits
