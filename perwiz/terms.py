"""The words of reports that a reader may not know, each explained in one line: what `perwiz explain` and docs/terms.md say of them."""

from __future__ import annotations

import re
from typing import NamedTuple


class Term(NamedTuple):
    """A word, what it means, and how else reports write it."""

    name: str
    meaning: str
    also: tuple[str, ...] = ()
    plain: bool = False
    """Whether a reader knows it more or less."""

    @property
    def words(self) -> tuple[str, ...]:
        """Return how reports write it; a letter alone is no word."""
        return tuple(word for word in (self.name, *self.also) if len(word) > 1)


TERMS = (
    Term("makespan", "the time of the whole run, from the first instant of any process to the last of any"),
    Term(
        "waiting",
        "the time a call stands still because a partner that it needs has not come; what else it takes is work",
        ("wait", "waits", "severity"),
        plain=True,
    ),
    Term("work", "what a call takes beside waiting: copying, overhead, anything the system did", plain=True),
    Term("gain", "how much shorter the whole run would be; a loss is how much longer", ("loss", "worth", "pays"), plain=True),
    Term("recorded", "the run as the trace has it; its clocks are corrected where effects come before their causes", plain=True),
    Term("predicted", "the run that hypotheses make of the recorded one, replayed with the model", plain=True),
    Term(
        "unlike",
        "of two runs: of ten calls of the one with fewer less than one is in both, so they are perhaps of two programs",
        plain=True,
    ),
    Term("measured", "the run that a prediction is compared with, recorded after the change", plain=True),
    Term(
        "range",
        "between which times the true one lies: what the trace does not tell is varied, what repeats is resampled",
        ("between", "span", "interval"),
        plain=True,
    ),
    Term(
        "record again",
        "processes shared processors: what waits for a processor looks like waiting or work, so no answer is safe",
        plain=True,
    ),
    Term("too short", "the run takes less than starting it does, so chance and start-up are most of what it shows", plain=True),
    Term("judged by", "so many parts of the run tell by how much it varies; few of them tell little"),
    Term("nothing repeats", "no part of the run is made twice, so it does not tell how much another run would differ"),
    Term("varies", "by how much what repeats differs from time to time: its standard deviation as a part of its length"),
    Term(
        "resampled runs",
        "other runs of the same program, made of what repeats in this one; each with and without the change",
        ("resampled", "on average", "draws"),
    ),
    Term("groups", "of iterations: neighbours that take longer or shorter together, drawn together for resampled runs"),
    Term("stretch", "what every process computes between two collectives of all, or two iterations, one behind the other", ("stretches",)),
    Term("behind", "of calls: what a process computes from the end of each of them to its next call"),
    Term(
        "least",
        "of a gain: between what it lies in other runs, as costs and the machine may be, and with a processor per process",
        ("most",),
        plain=True,
    ),
    Term("recordings", "what the change gains in other recordings of the same run, how much of it lies between them, and a range of all"),
    Term("log", "earlier predictions and what was measured then: how wide the range must be to hold nine of ten"),
    Term("for devices", "what a process computes to start its device and give it data, once: no work for others", ("start of a device",)),
    Term("by costs", "by how much latency and overheads that are fitted put the gain off at most, nine of ten times"),
    Term("as the machine may be", "between what the gain lies if what the trace leaves open of the machine is at its ends"),
    Term(
        "limited by", "what the run loses beside computation: to imbalance, waiting in turn, the network and a late start", ("bottleneck",)
    ),
    Term(
        "unexplained",
        "what calls take by no latency, overhead or byte of the model",
    ),
    Term("waiting in turn", "one process after another waits for the work of the one before: no imbalance, as all may compute alike"),
    Term("other", "what limits a run but is too little for the first line: its parts stand below, under how sure"),
    Term("after MPI_Finalize", "what the run takes when the last process has left MPI_Finalize: to write the trace, often"),
    Term("program", "as what a change is about: all that processes compute, not a region, a site or a rank of it", plain=True),
    Term("whole program", "all that processes compute between MPI_Init and MPI_Finalize, as one step"),
    Term("late start", "the process that ends last began after others, or left MPI_Init after them: that is no work", ("start",)),
    Term("hidden", "imbalance that balancing does not gain: calls and messages of other processes take as long meanwhile"),
    Term("polling", "tests and probes in vain, made again and again until something has come"),
    Term("unshared", "what a change gains if each process has a processor of its own, where they shared some in the recorded run"),
    Term("not sure to gain", "in what the trace leaves open the gain may be nothing: other runs, the span, fitted costs, the machine"),
    Term("sure to gain", "beside a first change that is not sure to gain: the one of the largest gain that is", plain=True),
    Term("may gain more", "below a first change that is sure to gain: one that may gain twice as much or more, or nothing", plain=True),
    Term("not tried", "kinds of changes that were not asked about, or a part of them: why, and what to ask instead"),
    Term("time goes to", "the call sites in which a process spends most time, on average of all"),
    Term(
        "hot spots",
        "regions on the critical path by what the run gains if computation in them takes half of its time, which is no change",
        ("hot spot",),
    ),
    Term("target", "the makespan of the whole run, with MPI_Init, that several changes are to reach together"),
    Term(
        "one fix after the other",
        "changes, each chosen in the program that those before it make",
        ("fix", "fixes", "greedy", "all wait then"),
    ),
    Term("first change", "of all that somebody can do the change that gains most, or its cause if near"),
    Term("instead", "beside zero wait, which nobody can have in full: changes that let who is waited for come earlier", plain=True),
    Term("what to do", "what to write for a change", plain=True),
    Term(
        "at best",
        "a bound: what calls gain if they did not wait or took no time, or the network cost nothing; what is computed stays",
        ("what there is to gain at best",),
    ),
    Term("what helps", "of a bound: what to write for a part of it, where that is not the first change"),
    Term("a part of it", "of a bound: changes that somebody can make and that gain a tenth of it or more"),
    Term("a little more", "changes that say the same as the one above them, which is their cause, and gain somewhat more"),
    Term(
        "kind",
        "what changes, such as balance, slowest, launches, order, wait, algorithm, overlap or network",
        plain=True,
    ),
    Term(
        "balance",
        "computation spread evenly over processes; as an efficiency: mean computation over the longest",
        ("balance-time", "balance-messages"),
    ),
    Term(
        "threads",
        "as a change: the work of a team spread evenly over its threads, that of one done by all, or MPI calls beside it",
        ("balance-threads", "schedule", "overlap"),
    ),
    Term("serving", "one process prepares a piece for each of the others and sends it, in turn, while those behind wait", ("in turn",)),
    Term("slowest", "a process, neighbours or a node that compute longer than others compute as long as all do on average"),
    Term(
        "pauses",
        "processes that compute far longer in some iterations than they usually do, and most others do not, as for a checkpoint",
        ("usual", "pause", "OS noise", "jitter"),
    ),
    Term(
        "accumulation",
        "gradients of micro-batches summed over the ranks once before the optimizer takes a step, as with no_sync()",
        ("accumulate",),
    ),
    Term("order", "what is waited for runs earlier on its own process: start it before what nobody waits for", plain=True),
    Term("protocol", "messages do not hold their sender until the receiver is there (below the eager limit), or move while it computes"),
    Term(
        "algorithm",
        "in which messages a collective is made; as a change: in those that take least for its processes and bytes",
        ("algorithms",),
    ),
    Term(
        "pipeline",
        "stages of a training job that pass micro-batches on; while it fills and drains, stages idle (the bubble)",
        ("micro-batches", "pipeline bubble"),
    ),
    Term("distribute", "as a change: what a process computes ahead of sends to several others is computed by those who receive"),
    Term("dynamic", "as a change: whichever process is free takes the next task of a loop, as from a queue"),
    Term("placement", "on which node each rank runs; as a change: on other ones", ("placed",)),
    Term("links", "cables between nodes and switches, which messages share; as a change: those of another topology", ("topology",)),
    Term("overloaded", "a link while messages on it would take more than it carries, each alone: they share it and are delayed"),
    Term("matching", "which receive takes which message; where other messages come first, receives of any source are matched anew"),
    Term(
        "loggopsim",
        "what that simulator makes of the same model; likewise the others of --semantics",
        ("atlahs", "llamp", "dimemas", "dimemas-linear", "dimemas-log"),
    ),
    Term(
        "interfaces",
        "of a node to the network: messages between nodes leave and come in by them, and share them",
        ("interface", "injection", "ejection", "queue"),
    ),
    Term(
        "collective",
        "a call that all processes of a communicator make, or all threads of a team; as a change: those take no time",
        ("collectives",),
        plain=True,
    ),
    Term(
        "messages",
        "what one process sends another; as a change: a site's calls that send or receive take no time",
        ("message",),
        plain=True,
    ),
    Term("network", "latency and time per byte of messages; as a change: halved, or none", plain=True),
    Term("includes", "changes that gain hardly anything beside the one above them: they have the same cause"),
    Term("no waits", "the run if no call waited, as --zero-wait all asks; what is left is work of some process"),
    Term(
        "best call",
        "the call whose wait is worth most by itself, but for MPI_Finalize; that of the longest wait is often worth nothing",
        ("longest wait",),
    ),
    Term("alone gains", "how much shorter the run is if this call alone does not wait"),
    Term("others wait less", "by how much, and in how many calls, the waiting of others falls with that of this call"),
    Term("wait more", "how much longer others wait instead, all together"),
    Term("waits then", "how long the call still waits when the call marked * is changed", plain=True),
    Term("zeroed", "the calls that --zero-wait names, how many of them waited in the recorded run, and how long", plain=True),
    Term("moved", "at another time than recorded; in a comparison: at another place in the order of calls", plain=True),
    Term("waits for", "the call of another process without which the waiting one cannot go on", ("because of",), plain=True),
    Term("hypothesis", "a change of the run that is asked about, such as --zero-wait e25; several are one changed program", plain=True),
    Term(
        "zero-wait",
        "a call goes on as if its partner had come, its partner stays where it was: what the wait is worth, not its cure",
    ),
    Term("zero-time", "a call returns the instant it is entered"),
    Term("zero-transfer", "a call takes no time but waiting: it returns when the last of those it waits for has come"),
    Term("zero-poll", "tests and probes that find nothing take no time: the process goes on when what it polls for is there"),
    Term("advance", "what a call waits for runs earlier on its own process, as far as the order that MPI demands allows"),
    Term("omp_idle", "a thread that has no team waits for the next one: not a call of the program, but a wait of its thread"),
    Term(
        "omp_fork", "a thread opens a team of threads; omp_join: it waits until all of them have done their part", ("omp_join",), plain=True
    ),
    Term(
        "omp_barrier",
        "threads of a team wait for each other; omp_implicit_barrier: where OpenMP says so, at the end of a loop or region",
        ("omp_implicit_barrier",),
        plain=True,
    ),
    Term(
        "omp_lock",
        "a thread asks for a lock, a critical section or its turn; omp_release: it gives that back, or ends a task",
        ("omp_critical", "omp_ordered", "omp_release"),
        plain=True,
    ),
    Term(
        "omp_task",
        "a thread waits for the next task, omp_taskwait for those it made, which omp_task_create did",
        ("omp_taskwait", "omp_task_create"),
        plain=True,
    ),
    Term(
        "pthread_idle",
        "a thread of POSIX that does not run yet, or no more; pthread_release: it gives a mutex back",
        ("pthread_release",),
        plain=True,
    ),
    Term(
        "device_idle",
        "a stream of a device has nothing to do: not a call of the program, but a wait for the next kernel or copy",
    ),
    Term("device_launch", "a thread gives a kernel or an asynchronous copy to a stream of a device, and goes on", plain=True),
    Term(
        "device_synchronize",
        "a thread waits for its device; device_copy: until a copy is done, device_offload: what it runs there",
        ("device_copy", "device_offload"),
        plain=True,
    ),
    Term(
        "thread_idle",
        "a thread of a profiled process has no work; thread_start: another gives it some; thread_wait: that waits for it",
        ("thread_start", "thread_wait"),
    ),
    Term("process_end", "the end of a process without MPI", plain=True),
    Term(
        "dist_all_reduce",
        "a collective of a training job, by NCCL, RCCL or Gloo; all names with dist_ are of such, or messages",
        (
            "dist_all_gather",
            "dist_reduce_scatter",
            "dist_all_to_all",
            "dist_barrier",
            "dist_broadcast",
            "dist_scatter",
            "dist_reduce",
            "dist_gather",
            "dist_send",
            "dist_recv",
            "dist_send_recv",
        ),
        plain=True,
    ),
    Term("move", "calls of a process run earlier, each with the computation before it, ahead of the call named"),
    Term("speed", "how many times as fast as recorded a process or node computes"),
    Term("typical", "each operation takes what others of its kind do: computation the mean, messages and collectives the median"),
    Term("alone", "nothing runs on other streams of a process while these calls of a stream do"),
    Term("hide", "these calls of a stream or thread run beside what their process computes before, as far as they fit: full overlap"),
    Term("launches", "what gives work to devices; as a change: it takes no time, as with CUDA graphs, or is never late", plain=True),
    Term("nccl", "collectives of NCCL take another algorithm or protocol, or faster links, by its tuning table"),
    Term("not as asked", "the program that was measured computes somewhere otherwise than the question says: another change, or chance"),
    Term("scale", "what part of its recorded time the computation in a region takes"),
    Term("region", "a part of the program that its author or its compiler marked, such as a function or a loop", plain=True),
    Term("step", "the k-th instance of a region on every process, written NAME#k", ("parallel step",), plain=True),
    Term(
        "iteration",
        "what all processes do again and again, one time of it: regions, calls, or all up to a collective call",
        ("iterations",),
        plain=True,
    ),
    Term("interrupted", "iterations with something in them that the others do not have, such as an output every tenth time"),
    Term("warm-up", "the first iterations, if they take far longer than the others"),
    Term("trend", "whether later iterations take longer: told if chance shows as much in less than 1 % of runs, and if it comes to 2 %"),
    Term("cut off", "messages, collectives and links with an end outside of the iterations asked for: what waited for them is work"),
    Term(
        "call site",
        "calls of one routine made in the same regions, and at one place in the source if that is known",
        ("site",),
        plain=True,
    ),
    Term("domino path", "waits from process to process, each because of the one before: without the first the others fall", ("trigger",)),
    Term("critical path", "a longest chain of computation, calls and messages from the start of the run to its end; no wait lies on it"),
    Term("slack", "how much later a call may return before the end of the run is later too", ("no slack", "least slack")),
    Term("lag", "the time from the entry of a partner's call until the waiting call can go on: of a message, how long it is under way"),
    Term(
        "model",
        "what messages and collectives cost on the machine, in the letters of LogGPS; fitted to the trace if --model gives none",
        plain=True,
    ),
    Term("balanced", "the run if computation, messages or both were even in the steps listed", ("both",), plain=True),
    Term("between-collectives", "each stretch between two collectives in which all processes wait for each other, as a step"),
    Term("best step", "the step whose balancing gains most; its processes need not be those that differ most"),
    Term("not to do", "the step whose balancing makes the run longest: there a process that is late already would get more to do"),
    Term("on the path", "what lies on the critical path: only that makes the run longer", plain=True),
    Term("in calls", "work inside MPI calls, no waiting", plain=True),
    Term("computation", "what a process does between its MPI calls", plain=True),
    Term("call", "one MPI call of one process: e12 is row 12 of the calls in the trace", ("calls",), plain=True),
    Term(
        "segment", "values of a parameter over which the makespan grows evenly, along one critical path", ("segments", "found"), plain=True
    ),
    Term(
        "L",
        "latency: what a message is under way beyond what sender and receiver spend on it; L_ns in a model",
        ("L_ns", "latency", "latencies"),
    ),
    Term(
        "o",
        "overhead: what a process spends on sending (o_s) or receiving (o_r) one message",
        ("o_ns", "o_s_ns", "o_r_ns", "o_s", "o_r", "overheads", "overhead"),
    ),
    Term("g", "gap: the least time between two messages that a process sends", ("g_ns", "gap")),
    Term(
        "G",
        "what each byte of a message adds to the time it is under way: one over the bandwidth; G_ns_per_byte in a model",
        ("G_ns_per_byte", "bandwidth"),
    ),
    Term(
        "O", "overhead per byte, of sending (O_s) or receiving (O_r)", ("O_ns_per_byte", "O_s_ns_per_byte", "O_r_ns_per_byte", "O_s", "O_r")
    ),
    Term("S", "eager limit: messages above it wait for their receiver", ("S_bytes", "eager limit")),
    Term("s", "packet size: a message above it is sent in packets, each a gap behind the one before; 0 is no packets", ("s_bytes",)),
    Term("eager", "of a message up to S: it is sent whether or not its receiver is there, so its sender does not wait"),
    Term("rendezvous", "of a message above S: its sender waits until the receive is posted", ("synchronous",)),
    Term(
        "in place",
        "of a message up to S: sent without a copy, so it may hold its sender until the receiver is in some MPI call",
        ("sent in place", "inline_bytes"),
    ),
    Term("progress", "when a message above S moves: always, or only while its process is in an MPI call ('in calls')"),
    Term("late sender", "a receiver waits, for the sender enters its call later", ("late senders",)),
    Term("late receiver", "the sender of a message above S waits, for the receive is posted later", ("late receivers",)),
    Term(
        "wrong order",
        "a late sender, though another message that is received later was already there",
        ("wrong orders", "messages in wrong order"),
    ),
    Term("wait at N x N", "in a collective in which all need something of all, a process waits for the last that enters"),
    Term("wait at barrier", "a process waits until the last has entered the barrier"),
    Term("late broadcast", "a process waits for what the root sends, for the root enters later"),
    Term("early reduce", "the root of a reduction or gather waits, for a process that sends enters later"),
    Term("wait at finalize", "a process waits in MPI_Finalize until the last has entered it"),
    Term("early scan", "in a prefix reduction a process waits for a lower rank that enters later"),
    Term(
        "completion",
        "time in a collective after its first process has left",
        ("n x n completion", "barrier completion", "initialization completion"),
    ),
    Term("different sources", "of a wrong order: the earlier message came from another process", ("from different sources",)),
    Term("same source", "of a wrong order: the earlier message came from the same process", ("from same source",)),
    Term("wait at window", "a process waits for the last that makes or frees the window", ("wait at window create", "wait at window free")),
    Term("wait at fence", "a process waits until the last has entered the fence of a window"),
    Term("early fence", "a process waits at a fence until the last access to its memory has returned"),
    Term("late post", "a process waits to access the window of another, which posts it later"),
    Term("late complete", "of an early wait at a window: the part after the last access to it"),
    Term("wait for progress", "a call on a window waits until its target, which computes, calls MPI"),
    Term("idle threads", "threads between the join of their last team and the next fork: their process computes on its first thread alone"),
    Term("lock contention", "a thread waits until another releases a lock, a mutex or a critical section; a process, the lock of a window"),
    Term("lock competition", "a PE of OpenSHMEM waits until another releases a lock"),
    Term("wait until", "a PE of OpenSHMEM waits for its memory to change, until another puts something there"),
    Term("wait at symmetric heap", "a PE of OpenSHMEM waits for the last that allocates or frees memory, which synchronises all"),
    Term("early wait", "a host waits for its device to end what it was given; a process for those who access its window to complete"),
    Term("launch latency", "from a launch until the stream of the device begins the work, what it did before taken off"),
    Term("teams", "what forks, beginning threads, barriers and joins of a team take, fitted to the sizes of teams that were recorded"),
    Term("fork", "from the fork of a team until its threads begin"),
    Term("wait for thread", "a thread of a profiled process waits for work that it gave to another one"),
    Term("wait at join", "a process waits for the end of its threads, where no barrier ends their team"),
    Term("wait for order", "a thread waits for its ordered section, until the iteration before has left its own"),
    Term("wait for tasks", "a thread waits until tasks that others execute are done"),
    Term("lack of tasks", "a thread has nothing to do until a task is created"),
    Term("limited parallelism", "idle threads beside a team that they are not in"),
    Term("wait for copy", "a host waits for a copy, and for what the device does before it"),
    Term("wait for stream", "a stream of a device that has work waits until another lets it go"),
    Term("idle devices", "streams of devices that have no work"),
    Term("supply", "what part of the time the device that is busy most has anything to do: the rest it waits for launches"),
    Term("all threads", "efficiency of all threads of all processes: that of MPI times that of the threads"),
    Term("serial parts", "what threads are idle while the first one of their process computes alone (Amdahl)", plain=True),
    Term("parallel regions", "what threads do not compute from fork to join", plain=True),
    Term("best pattern", "the wait state, and where it is, whose waits are worth most together"),
    Term("main cause", "where late processes spend the time that most of the waiting is for", ("causes",)),
    Term("ask next", "the command that says more of what the answer points to", ("next",), plain=True),
    Term("before", "of iterations and phases: what the run does ahead of the first one; of a series: the run one earlier", plain=True),
    Term("efficiency", "what part of the time of all processes, or threads, is computation, or one factor of that part", plain=True),
    Term("factor", "one of the efficiencies that give the whole one when multiplied", ("factors",), plain=True),
    Term("longest", "that of all, such as iterations or sums of a process, which takes most time", plain=True),
    Term("metric", "what a table counts or adds up: a wait state, a time, a number of calls or bytes", ("metrics",), plain=True),
    Term("processes", "how many there are; a process is one rank of MPI, with all its threads and streams", ("process",), plain=True),
    Term(
        "rank",
        "the number of a process in MPI_COMM_WORLD, from 0; 3.1 is the next thread or stream of rank 3 behind its first thread",
        ("ranks",),
        plain=True,
    ),
    Term("streams", "queues of a device, each of which does one kernel or copy after the other", ("stream",), plain=True),
    Term("routine", "what a call calls, such as MPI_Recv", ("routines",), plain=True),
    Term("times", "of a parameter: how many times its own value; of a trace: where its times come from", plain=True),
    Term("call path", "regions from the outside in, and the routine called there, joined by /", plain=True),
    Term("waits there", "how long all calls of those call sites wait, whatever it is for: what the gain beside it takes away"),
    Term("instances", "how often it happens", plain=True),
    Term("of all", "part of the time of all processes, from when the last has left MPI_Init", plain=True),
    Term("of waiting", "part of all waiting that comes from there", plain=True),
    Term("worst rank", "the process with most of it, and how much", plain=True),
    Term("short term", "delay cost of a process late by itself; 'long term' is that of one late because it had to wait", ("long term",)),
    Term("mostly as", "the wait state that most of a delay cost shows as"),
    Term("communication", "as an efficiency: serialisation times transfer"),
    Term("phases", "parts of the run in which iterations, or windows, behave alike; between two of them something changes", ("phase",)),
    Term("stands out", "single iterations that take far longer than the others, or the others of their phase"),
    Term("windows of equal time", "parts of the run between MPI_Init and MPI_Finalize, all equally long, where it has no iterations"),
    Term("parallel", "as an efficiency: mean computation over the time, which is balance times communication"),
    Term("counter", "what the processor or the kernel counts, such as instructions, cycles and cache misses", ("counters",)),
    Term("IPC", "instructions per cycle of computation: low where it waits for memory"),
    Term("GHz", "cycles per ns of computation: the frequency of the processor while the process runs", ("frequency",)),
    Term("instruction balance", "mean instructions of a process in computation by the most of any"),
    Term("levels", "counters that do not count, such as memory in use: not added up"),
    Term("per s", "counted in a second of the time beside it", plain=True),
    Term(
        "scaling",
        "of computation from one run to another: that of instructions times those of IPC and frequency",
        ("computation scaling",),
    ),
    Term("speed-up", "the time of the reference by that of the run; ideal: the processes by those of the reference, or threads"),
    Term("global", "as an efficiency: parallel efficiency times the scaling of computation", ("global efficiency",)),
    Term("lost most", "the factor of the speed-up that makes the run longest, or call path that grew most", ("gained most", "most in")),
    Term("noise", "how far two recordings of one program lie apart by chance, 99 times of 100"),
    Term("delay cost", "the waiting of others that comes from a process spending more time in a place than they did"),
    Term(
        "imbalance",
        "processes compute for different times, so those done first wait; max/mean says by how much",
        ("max/mean", "load imbalance"),
    ),
    Term("sigma", "standard deviation of what the processes compute or send in a step"),
    Term(
        "serialisation",
        "an efficiency: the longest computation over the ideal time; what it lacks is waiting in turn",
    ),
    Term(
        "transfer",
        "an efficiency: the ideal time over the time; what it lacks goes to MPI and the network. On a path: messages under way",
    ),
    Term("ideal", "the time of the run if calls and messages took none", ("ideal time",)),
    Term(
        "lower bound", "what no program of this work beats; it knows no order of calls, so none may reach it", ("lower bounds", "at least")
    ),
    Term(
        "grows by",
        "how much longer the run takes per unit by which a parameter of the network grows",
        ("ns per ns of L", "ns per ns of g", "ns per ns/B of G", "ns per ns/B of O"),
    ),
    Term("tolerance", "how far a parameter of the network may grow before the run is a given part slower", ("slower by",)),
    Term("error", "predicted minus measured: + is predicted too long", plain=True),
    Term("change", "of two measured runs: second minus first; in a list: how to ask for it", plain=True),
    Term(
        "first",
        "the run named first, 'second' the other; shares are of the measured one, of two measured ones of the first",
        ("second",),
        plain=True,
    ),
    Term("because", "what of the program differs most between the critical paths of two runs", plain=True),
    Term(
        "chance",
        "whether two recordings of the same program lie as far apart: as what repeats in both tells, 99 times of 100",
        ("may be all of it", "not all of it"),
        plain=True,
    ),
    Term("from", "the instant from which two runs are compared; the end of MPI_Init if both show it", plain=True),
    Term("wildcard", "of a receive: it takes a message from any source, so in another run it may take another", ("wildcards",)),
    Term("replay", "the unchanged run computed with the model; it must give the recorded one"),
    Term("misfit", "how often the recorded times contradict the model; such messages keep their recorded times"),
    Term(
        "doubtful",
        "what recording and model contradict each other in, if that may change the answer by over 2 %; first if most do",
    ),
    Term("controlled logical clock", "puts events forward just far enough that none comes before its cause", ("clc",)),
    Term(
        "not modelled",
        "time in calls whose partners are unknown, and of processes that logged nothing: it stays as recorded, whatever changes",
    ),
    Term(
        "told",
        "what of the model the trace tells; what is not told is assumed, and varied for the range",
        ("not told", "fitted", "assumed", "likely"),
        plain=True,
    ),
    Term("health", "what the trace lacks, and how much of the time that concerns", plain=True),
    Term("records", "how many records of the file were read, and how many could not be used", plain=True),
    Term("other records", "what a trace keeps beside calls, messages, regions and counters, such as those of files", plain=True),
    Term("left out", "last steps of a training job, which ranks that are done disturb; records that tell nothing of calls or regions"),
    Term(
        "stands for",
        "iterations in a row that a list on a large run is about: of each process their mean is that of all",
    ),
    Term("missing", "what the trace does not hold of its calls: their ends, partners or waits", ("inferred",)),
    Term("clocks", "whether anything is received before it was sent; if so the times are corrected", ("corrected",), plain=True),
    Term("INCOMPLETE", "a part of the trace is missing or cannot be used; what is missing waits for nobody and delays nobody"),
    Term("metahost", "one of several machines that a run was on", ("metahosts",)),
)
"""In the order of a reader's questions."""


def find(word: str) -> list[Term]:
    """Return the term that reports write so, letters as they are and words in any case, of which number they are aside (`rank 3.1`); else
    those that the words are a part of.
    """
    word = re.sub(r"(?<=\w) \d+(\.\d+)?$", "", word)
    same = [term for term in TERMS if word in (term.name, *term.also)]
    plain = [term for term in TERMS if word.lower() in (name.lower() for name in term.words)]
    parts = [term for term in TERMS if f" {word.lower()} " in f" {term.name.lower()} " and len(word) > 1]
    return same[:1] or plain[:1] or parts


def used(report: str) -> list[Term]:
    """Return the terms that a report uses, in the order of their first use."""
    first = {term: match.start() for term in TERMS if (match := re.search(_pattern(term), report))}
    return sorted(first, key=first.__getitem__)


def _pattern(term: Term) -> str:
    """Return what finds a term as a word of its own; keys of the model and words in capitals as they are, others in any case."""
    words = (re.escape(word) if "_" in word or word.isupper() else f"(?i:{re.escape(word)})" for word in term.words)
    return rf"(?<![\w#/@-])(?:{'|'.join(words)})(?![\w-])"
