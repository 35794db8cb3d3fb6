/*
 * blkio_settings.c
 *	  Tells which settings are in force, and why they differ from the
 *	  configured ones.
 *
 * The result is for permanent indexes.  The functions make the cache and the
 * ring, as a search would.
 */
#include "postgres.h"

#include "storage/blkio/blkio_cache.h"
#include "utils/builtins.h"
#include "utils/guc.h"

static char *
skx_blkio_setting_configured(const char *name)
{
	return GetConfigOptionByName(name, NULL, false);
}

/* Returns a size in the form that the server uses for settings of memory. */
static char *
skx_blkio_setting_size(Size bytes)
{
	if (bytes == 0)
		return pstrdup("0");
	if (bytes % (1024 * 1024) == 0)
		return psprintf("%zuMB", bytes / (1024 * 1024));
	return psprintf("%zukB", bytes / 1024);
}

static void
skx_blkio_setting_cache(SkxBlkSetting *setting)
{
	bool		stale;
	const char *why;

	(void) skx_blkio_anchor_attach();
	why = skx_blkio_anchor_size_reason(&stale);
	setting->in_force = skx_blkio_setting_size(skx_blkio_cache_bytes());
	if (why[0] != '\0')
		setting->reason = pstrdup(why);
	else if (stale)
		setting->reason = "changed since the cache was made: a restart of the server makes another";
}

/* Returns the reason for the method that `auto` has chosen. */
static char *
skx_blkio_setting_auto(const SkxBlkMethod *method)
{
	const char *ring = skx_blkio_ring_ready() ? "io_uring can be used" :
		skx_blkio_ring_refusal();

	if (skx_blkio_cache.header == NULL)
		return "there is no block cache";
	return psprintf("%s; the block cache has %s 1GB", ring,
					method->direct ? "at least" : "less than");
}

static void
skx_blkio_setting_method(SkxBlkSetting *setting)
{
	const SkxBlkMethod *method = skx_blkio_method_in_force();

	setting->in_force =
		pstrdup(skx_blkio_method_names[method->number]);
	if (skx_blkio_io_method == SKX_BLK_METHOD_AUTO)
		setting->reason = skx_blkio_setting_auto(method);
	else if (skx_blkio_io_method != (int) method->number)
		setting->reason = pstrdup(skx_blkio_ring_refusal());
	else if (method->direct && skx_blkio_limit_was_met(SKX_BLK_REFUSAL_DIRECT))
		setting->reason = "files that have no direct I/O are read through the page cache";
}

static void
skx_blkio_setting_depth(SkxBlkSetting *setting)
{
	const SkxBlkMethod *method = skx_blkio_method_in_force();
	int			depth = skx_blkio_depth_in_force(method);

	setting->in_force = psprintf("%d", depth);
	if (depth == skx_blkio_io_depth)
		return;
	setting->reason = method->prefetch == NULL ?
		psprintf("%s reads nothing ahead",
				 skx_blkio_method_names[method->number]) :
		"there is no block cache to read into";
}

/* Reads through shared buffers are the server's own and not counted. */
static void
skx_blkio_setting_depth_total(SkxBlkSetting *setting)
{
	const SkxBlkMethod *method = skx_blkio_method_in_force();

	if (method->pin != NULL)
		setting->reason = psprintf("does not limit %s",
								   skx_blkio_method_names[method->number]);
	else if (skx_blkio_cache.header == NULL)
		setting->reason = "there is no block cache to count reads in";
	else
		setting->in_force = psprintf("%d", skx_blkio_io_depth_total);
}

bool
skx_blkio_setting(int number, SkxBlkSetting *setting)
{
	static const struct
	{
		const char *name;
		void		(*fill) (SkxBlkSetting *setting);
	}			all[] = {
		{"skipidx.cache_size", skx_blkio_setting_cache},
		{"skipidx.io_method", skx_blkio_setting_method},
		{"skipidx.io_depth", skx_blkio_setting_depth},
		{"skipidx.io_depth_total", skx_blkio_setting_depth_total}
	};

	if (number >= lengthof(all))
		return false;
	memset(setting, 0, sizeof(*setting));
	setting->name = all[number].name;
	setting->configured = skx_blkio_setting_configured(all[number].name);
	all[number].fill(setting);
	return true;
}
