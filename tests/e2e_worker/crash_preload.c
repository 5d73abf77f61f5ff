/* For LD_PRELOAD of a program that decodes: it ends by SIGSEGV when it decodes a packet of the file
   whose path ends with $CRASHING_CLIP. Reading the headers of that file does nothing. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local int has_it; /* the file that this thread has opened last */

static int ends_with(char const* text, char const* end) {
    size_t const all = strlen(text), most = strlen(end);
    return all >= most && strcmp(text + all - most, end) == 0;
}

int avformat_open_input(AVFormatContext** context, char const* url, AVInputFormat const* format,
                        AVDictionary** options) {
    int (*open)(AVFormatContext**, char const*, AVInputFormat const*, AVDictionary**) = 0;
    char const* const clip = getenv("CRASHING_CLIP");
    has_it = clip != 0 && url != 0 && ends_with(url, clip);
    *(void**)&open = dlsym(RTLD_NEXT, "avformat_open_input");
    return open(context, url, format, options);
}

int avcodec_send_packet(AVCodecContext* codec, AVPacket const* packet) {
    int (*send)(AVCodecContext*, AVPacket const*) = 0;
    if (has_it) raise(SIGSEGV);
    *(void**)&send = dlsym(RTLD_NEXT, "avcodec_send_packet");
    return send(codec, packet);
}
