/*
 * fault_transfer.c
 *	  Finds the library for tests that replaces results of transfers.
 *
 * That library leaves its functions in a rendezvous variable of the server.
 * It does not matter which of the two libraries is loaded first.
 */
#include "postgres.h"

#include "fmgr.h"
#include "support/fault/fault.h"

static const SkxFaultTransfers *skx_fault_no_transfers = NULL;

const SkxFaultTransfers **skx_fault_transfers = &skx_fault_no_transfers;

void
skx_fault_transfer_init(void)
{
	skx_fault_transfers = (const SkxFaultTransfers **)
		find_rendezvous_variable(SKX_FAULT_RENDEZVOUS);
}
