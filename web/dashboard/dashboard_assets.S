/* The files of the dashboard's pages as bytes of the program. */
    .macro embed name, file
    .global \name
    .global \name\()_end
\name:
    .incbin "\file"
\name\()_end:
    .byte 0
    .endm

    .section .rodata
    embed osora_dashboard_style, OSORA_STYLE
    embed osora_dashboard_script, OSORA_SCRIPT
    .section .note.GNU-stack,"",%progbits
