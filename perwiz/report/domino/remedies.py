"""What a programmer does about the situation that a change is for, in one sentence, whichever command tells of it."""

from __future__ import annotations

from perwiz.trace import operations
from perwiz.trace.parts.iterations import find
from perwiz.trace.resources import remembered
from perwiz.trace.trace import Trace
from perwiz.whatif.ranking.computation import training_devices

_LIMIT = (
    "raise the eager limit of this MPI (Open MPI: --mca btl_sm_eager_limit N, between nodes btl_tcp_eager_limit; UCX: UCX_RNDV_THRESH;"
    " MPICH: MPIR_CVAR_CH4_OFI_EAGER_THRESHOLD; Intel MPI: I_MPI_EAGER_THRESHOLD)"
)
_PROGRESS = (
    "let the library make progress while the program computes (MPICH: MPIR_CVAR_ASYNC_PROGRESS=1, Intel MPI: I_MPI_ASYNC_PROGRESS=1,"
    " MVAPICH2: MV2_ASYNC_PROGRESS=1; a thread of it takes time of a core); or call MPI_Test now and then between pieces of work"
)
_AHEAD = "post the receive earlier: move the MPI_Irecv ahead of what is computed before it"
REMEDIES = {
    "serving in turn": "let each process prepare its own piece (read it with MPI_File_read_at_all, compute it from its rank); or prepare"
    " all, then MPI_Scatter or MPI_Scatterv once; or let several processes serve, each its own group; or MPI_Isend each piece, the root's"
    " own work last",
    "imbalance": "give the processes that compute longest less of the work: another decomposition, or work handed out as processes ask",
    "pauses": "see what these processes do then, and others do not: output or a checkpoint of one (let all write, or write beside"
    " computation), memory that is used for the first time, more work; or what takes their core from them: daemons, interrupts, other"
    " programs (leave a core free for these, pin processes)",
    "imbalance that is there once": "this is there once, so a longer run gains no more by it: see what that process does there and others"
    " do not, such as reading input or writing results, and share it; or what disturbed it: record again to see whether it stays",
    "work of one process": "share what one process does alone there: give the others their part of it, or let each write its own"
    " (MPI_File_write_at_all, a reduction); or let it do that while the others compute on: non-blocking, on a thread or on a process of its"
    " own",
    "iteration that stands out": "an iteration that stands out: see what disturbed it (another program, files, memory that is used for the"
    " first time), or what it does that others do not; record again to see whether it stays",
    "slow process": "see why this process computes longer: more work than the others (decompose anew), or a slower core or a crowded node"
    " (pin processes, move the job)",
    "slow processes": "see why these processes compute longer: more work than the others (decompose anew), or slower cores or a crowded"
    " node (pin processes, move the job)",
    "process slow in a region": "see why only this process takes so long there: more work or other input than the others (decompose"
    " anew), or a slower core, disk or crowded node (move it); times alone do not tell which",
    "work of a farm": "tasks go to whoever asks already, so the last ones tell: hand out the longest first, or make them smaller; or see"
    " whether these processes are slower (cores, crowded nodes)",
    "wrong order": "do what the others wait for first: move that computation and its send ahead of what nobody waits for, as MPI_Isend:"
    " where all send first, MPI_Send may never return",
    "late sender": "send earlier: MPI_Isend as soon as the data are there; or compute between MPI_Irecv and MPI_Wait instead of waiting",
    "late send behind a receive": "send first (MPI_Isend before MPI_Recv) what does not need what is received, then receive and use that:"
    " the processes no longer go one after the other",
    "late put": "put earlier: shmem_put_nbi as soon as the data are there, the flag behind shmem_fence; or compute before shmem_wait_until",
    "late receiver": "post the receive earlier: MPI_Irecv before the computation, MPI_Wait behind it; or use MPI_Isend and compute on",
    "late receiver, posted late": f"{_AHEAD}; or use MPI_Isend and compute on",
    "held sender": f"post the receive earlier, MPI_Irecv before the computation; or {_LIMIT}; or use MPI_Isend and compute on",
    "held sender, posted late": f"{_AHEAD}; or {_LIMIT}; or use MPI_Isend and compute on",
    "held sender, not moved": f"{_LIMIT}; or {_PROGRESS}",
    "serialisation": "cut the work into pieces, and send each with MPI_Isend when it is done, so that the next process begins with it"
    " (pipelining); or send earlier what the others wait for",
    "late probe": "look for the message later: MPI_Iprobe between pieces of work instead of waiting in MPI_Probe",
    "polling": "wait in MPI_Wait, MPI_Waitsome or MPI_Probe instead of testing in a loop; or compute longer between two tests, and leave"
    " progress to a thread of the library",
    "wait at barrier": "leave out the barrier if only messages need the order; else balance the computation before it",
    "wait at N x N": "balance the computation before it; or start it with the non-blocking routine (MPI_Iallreduce ...), compute, MPI_Wait",
    "late broadcast": "let the root send earlier; or start it as MPI_Ibcast (MPI_Iscatter) and compute before MPI_Wait",
    "early reduce": "let the root come later or do other work first: MPI_Ireduce (MPI_Igather), compute, MPI_Wait",
    "wait in prefix": "let the lower ranks come earlier; or start it as MPI_Iscan and compute before MPI_Wait",
    "late post": "post the window earlier, as soon as its memory may be accessed; or compute between MPI_Win_start and the first access",
    "early wait": "call MPI_Win_complete as soon as the accesses are issued; or let the target compute on what nobody accesses before"
    " MPI_Win_wait",
    "wait at fence": "let those alone meet who access each other: MPI_Win_post, MPI_Win_start, MPI_Win_complete, MPI_Win_wait; else balance"
    " the computation before the fence",
    "window lock": "hold the lock shorter, lock MPI_LOCK_SHARED where nobody else writes, or use MPI_Win_lock_all and atomic accesses"
    " (MPI_Accumulate, MPI_Fetch_and_op)",
    "no progress": "let the target call MPI now and then while it computes (MPI_Iprobe), or MPI make progress by itself (MPICH:"
    " MPIR_CVAR_ASYNC_PROGRESS=1; memory of MPI_Win_allocate instead of MPI_Win_create)",
    "eager limit": f"{_LIMIT}, or post the receives earlier with MPI_Irecv",
    "eager limit, posted late": f"{_LIMIT}, or {_AHEAD}",
    "eager limit, not moved": f"{_LIMIT}; or {_PROGRESS}",
    "progress": _PROGRESS,
    "collective": "call it less often, join several into one, on fewer processes, or start it non-blocking and compute before MPI_Wait",
    "algorithm": "tell the library which to take (Open MPI: --mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_*_algorithm N, as"
    " ompi_info --all lists them; MPICH: MPIR_CVAR_*_INTRA_ALGORITHM), and measure",
    "placement": "place the ranks so: write the node of each into a file (Slurm: SLURM_HOSTFILE and --distribution=arbitrary; Open MPI:"
    " mpirun --map-by rankfile:file=FILE, or --map-by slot and node for blocks and one by one; MPICH: a hostfile), or let"
    " MPI_Cart_create reorder them",
    "messages": "send fewer and longer messages, or compute meanwhile: MPI_Isend and MPI_Irecv, compute, MPI_Waitall",
    "transfer": "take the faster network, or need it less: send less, and put processes that talk much on one node",
    "thread imbalance": "deal the loop out in smaller pieces: schedule(dynamic, N) or schedule(guided)",
    "imbalance of threads": "give the processes and threads that compute longest less of the work: another decomposition,"
    " schedule(dynamic, N) for the loop, or work handed out as they ask",
    "serial part": "let all threads do what one does alone: a parallel loop, sections or tasks; perwiz patterns says where (Idle threads)",
    "one thread communicates": "compute meanwhile: open the parallel region before these calls, make them in omp master (MPI_Init_thread"
    " with MPI_THREAD_FUNNELED), and deal out the loop behind it with schedule(dynamic, N), or as tasks; last what needs the messages",
    "pipeline bubble": "cut micro-batches smaller, and pass more of them; or give each rank several parts of the model, interleaved",
    "lock": "hold it shorter, have a lock per part of the data, or use a reduction or atomic updates instead",
    "one thread alone": "one thread does nearly all of it while the others wait (master, single, or a team too large): let them take part,"
    " with a loop, sections or tasks; or open no team for it",
    "device copy": "copy beside kernels: cut the data into pieces, and copy one (cudaMemcpyAsync, from pinned memory) in another stream"
    " while a kernel works on the one before; or leave the data on the device",
    "data loader": "load ahead beside the steps: DataLoader(num_workers=N, persistent_workers=True), N at least what a batch takes to load"
    " by what the rest of a step takes, and a core for each; or do less per sample (decoding, augmenting), once and ahead of the training",
    "needless sums": "sum gradients once a step of the optimizer: with model.no_sync(): around forward and backward of all micro-batches"
    " but the last (DistributedDataParallel; FSDP as well, which then holds whole gradients; fully_shard:"
    " set_requires_gradient_sync(False))",
    "unused parameters": "leave out find_unused_parameters=True of DistributedDataParallel if each parameter gets a gradient in each step;"
    " or static_graph=True if the same ones always do: then the all-reduce of which were used goes as well",
    "gradient hooks": "see what is called when a gradient is ready: a comm hook (register_comm_hook: leave it out, or let it do less, and"
    " launch its collective before it computes), hooks of parameters (register_hook), find_unused_parameters of DistributedDataParallel",
    "device wait": "compute on between the launch and the wait; copy asynchronously (cudaMemcpyAsync, hipMemcpyAsync, nowait of OpenMP);"
    " wait only for what is needed (kernels that then run at once share the device)",
    "launches": "launch fewer and longer kernels, or many as one: CUDA graphs (cudaGraphLaunch, hipGraphLaunch), fused kernels",
    "first launches": "a few launches take most of it, as the first ones do that load the code of a kernel or set up the device: once in a"
    " run, however long; load it ahead of what is timed (CUDA_MODULE_LOADING=EAGER, an empty launch), or record a longer run",
    "overlap": "let communication run on a stream or thread of its own, begun as soon as its data are there, and wait for it where they are"
    " used",
    "wait at end": "nothing to change in MPI_Finalize: who comes late computed longer or waited before it; balance that",
    "missing members": "bring the traces of the ranks that are missing: whether these calls wait for them or transfer data cannot be told"
    " without",
    "other wait": "compute while it is under way, or let the partner come earlier",
}
"""Situation -> what to write."""
_BEFORE_IT = "balance the computation before it; or let it run beside computation (async_op=True, as DDP and FSDP do) and wait later"
_FASTER = "more work than the others (its batches, the layers of its stage, its data loader), or a slower device, core or node"
_LESS = "give the ranks that compute longest less of the work: batches of equal work (lengths of sequences), layers dealt out to stages by"
_LESS += " what they take, more workers for a data loader"
_EARLIER = "let its source come earlier; or start it with async_op=True, compute, work.wait()"
_RECEIVE = "post the receive earlier, dist.irecv or dist.batch_isend_irecv, before the computation"
OF_TRAINING = {
    "pauses": "see what these ranks do then, and others do not: garbage collection (gc.freeze, gc.disable, and gc.collect on all ranks at"
    " the same step), a checkpoint of one rank (torch.distributed.checkpoint.async_save, or less often), logging or evaluation; or what"
    " else runs on their cores",
    "imbalance": _LESS,
    "imbalance of threads": _LESS,
    "slow process": f"see why this rank computes longer: {_FASTER} (clocks, temperature, who else runs there): replace it",
    "slow processes": f"see why these ranks compute longer: {_FASTER} (clocks, temperature, who else runs there): replace them",
    "process slow in a region": "see why only this rank takes so long there: slower input (its disk, its data loader), more work (its"
    " batches, the layers of its stage), or a slower core or node; times alone do not tell which",
    "late sender": "send earlier: dist.isend as soon as the data are there; more and smaller micro-batches fill the pipeline sooner",
    "serialisation": "more and smaller micro-batches, or interleaved stages, so that the next stage begins earlier",
    "late receiver": _RECEIVE,
    "held sender": _RECEIVE,
    "wait at barrier": "leave out the barrier (dist.barrier), or balance the computation before it",
    "wait at N x N": _BEFORE_IT,
    "late broadcast": _EARLIER,
    "early reduce": _EARLIER,
    "collective": "call it less often: larger buckets (bucket_cap_mb), gradients added up over batches (no_sync), a smaller type of"
    " numbers; or let it run beside computation (async_op=True)",
    "messages": "send less: a smaller type of numbers, fewer stages; or beside computation: dist.isend, compute, wait",
    "transfer": "take the faster network, or need it less: a smaller type of numbers, and ranks that talk much on one node",
    "launches": "launch many kernels as one: CUDA graphs (torch.cuda.graph, torch.compile with mode='reduce-overhead'), fused kernels; in"
    " Python, do less between launches, and keep garbage collection out of the steps (gc.freeze)",
    "overlap": "start it as soon as its data are there and wait where they are used (async_op=True; DDP: smaller bucket_cap_mb,"
    " static_graph; FSDP: backward_prefetch, forward_prefetch), on a stream of its own",
    "wrong order": "do what the other ranks wait for first: start that collective or dist.isend ahead of work that nobody waits for",
    "eager limit": _RECEIVE,
    "progress": "let the collective or message run on a stream of its own (async_op=True), and wait for it later",
    "algorithm": "tell NCCL which to take (NCCL_ALGO, NCCL_PROTO), and measure",
    "wait in prefix": _EARLIER,
    "serial part": "let more threads do it: torch.set_num_threads, OMP_NUM_THREADS, workers of the data loader",
    "placement": "place the ranks so: RANK and LOCAL_RANK by node (torchrun --node-rank), groups that talk much on one node",
}
"""Likewise, where the processes are ranks of torch.distributed."""


def remedy(trace: Trace, situation: str) -> str:
    """Return what to write in a situation, in the words of the library that the trace shows."""
    if not _trains(trace):
        return REMEDIES[situation]
    first = straggler(trace) if situation in _OF_ALL else ""
    return f"{first}{OF_TRAINING.get(situation.partition(', ')[0], REMEDIES[situation])}"


@remembered(2)
def _trains(trace: Trace) -> bool:
    """Return whether the processes of a trace are ranks of torch.distributed."""
    return bool(operations.DIST[trace.calls.op].any())


OF_BARRIERS = (REMEDIES["wait at barrier"], OF_TRAINING["wait at barrier"])
"""Of waits in what can go where nothing needs the order."""
OF_MISSING = REMEDIES["missing members"]
"""Of collectives in which ranks take part whose traces are not there."""
_OF_ALL = ("imbalance", "imbalance of threads")
"""Situations of all ranks, which one alone may cause."""
_APART, _TIMES = 1.1, 2
"""By the mean, from which on a rank alone is worth replacing; it is as many times as far above as the next one."""


@remembered(2)
def straggler(trace: Trace) -> str:
    """Return what to do first if the device of one rank computes longest in most steps of a training job, far above the others, else
    nothing.
    """
    if not training_devices(trace).any():
        return ""
    from perwiz.patterns.analysis import stragglers  # most questions are about other runs
    from perwiz.patterns.analysis.devices import devices

    used = devices(trace, find(trace))
    found = stragglers.slow(used.steps) if used is not None else []
    if used is None or not found or found[0].of_mean < _APART or 2 * found[0].longest <= len(used.steps):
        return ""
    first, above = found[0], [one.of_mean - 1 for one in found]
    if len(found) > 1 and above[0] < _TIMES * above[1]:
        return ""
    count, rank = len(used.steps), int(used.rank[first.row])
    longest = "every step" if first.longest == count else f"{first.longest} of {count} steps"
    told = f"rank {rank} computes {first.of_mean:.2f} times the mean, longest in {longest}"
    return f"{told}: replace or drain it, see --typical rank:{rank} and info --devices; else "
