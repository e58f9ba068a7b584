// The bytes of the keyword database, for default_rules.h.
    .section .rodata
    .balign 64
    .globl cordon_secret_database
    .globl cordon_secret_database_end
cordon_secret_database:
    .incbin CORDON_SECRET_DATABASE
cordon_secret_database_end:
    .section .note.GNU-stack, "", %progbits
