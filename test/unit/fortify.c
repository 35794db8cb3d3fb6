/*
 * fortify.c
 *	  What the server's libraries call that a C library other than glibc lacks.
 *
 * Compiled with _FORTIFY_SOURCE, they check bounds by a function of glibc.
 */
#include <stdarg.h>
#include <stdio.h>

/* Writes as snprintf() does, but no more than fits into `room` bytes. */
extern int	__snprintf_chk(char *to, size_t n, int flag, size_t room,
						   const char *format,...);

int
__snprintf_chk(char *to, size_t n, int flag, size_t room,
			   const char *format,...)
{
	va_list		args;
	int			written;

	(void) flag;
	va_start(args, format);
	written = vsnprintf(to, n < room ? n : room, format, args);
	va_end(args);
	return written;
}
