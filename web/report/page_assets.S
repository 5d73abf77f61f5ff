/* The files of a report's page as bytes of the program: a compiler would take long over them. */
    .macro embed name, file
    .global \name
    .global \name\()_end
\name:
    .incbin "\file"
\name\()_end:
    .byte 0
    .endm

    .section .rodata
    embed osora_report_style, OSORA_STYLE
    embed osora_report_script, OSORA_SCRIPT
    embed osora_report_licences, OSORA_LICENCES
    .section .note.GNU-stack,"",%progbits
