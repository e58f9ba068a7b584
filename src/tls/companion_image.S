// The bytes of the companion program, for companion.cc. Not read, and so not in
// memory, unless a run needs it.
    .section .rodata.cordon_tls_image, "a", %progbits
    .balign 4096
    .globl cordon_tls_image
    .globl cordon_tls_image_end
cordon_tls_image:
    .incbin CORDON_TLS_PROGRAM
cordon_tls_image_end:
    .section .note.GNU-stack, "", %progbits
