"""The tree of metrics, with the unique names of Scalasca 2.6 and Score-P, so that tools that know these find them."""

from __future__ import annotations

import dataclasses

NS, BYTES, TIMES = "ns", "bytes", "occ"
"""Units."""


@dataclasses.dataclass(frozen=True)
class Metric:
    """A node of the tree of metrics."""

    name: str
    """Unique."""
    title: str
    parent: str
    """Name of the metric that contains it, empty at the top."""
    unit: str = NS
    meaning: str = ""

    def shown(self, mpi: bool) -> str:
        """Return the title that reports give it, without words of MPI in runs that call no routine of MPI."""
        return self.title if mpi else _ELSEWHERE.get(self.title, self.title)


_ELSEWHERE = {
    "MPI": "Between ranks",
    "POSIX threads": "Threads",
    "MPI synchronizations": "Synchronizations",
    "MPI communications": "Communications",
    "MPI bytes transferred": "Bytes transferred",
}
"""Titles of metrics in runs that call no MPI, such as training jobs."""
_TIME = """
time | Time | | time of all processes, from the first to the last instant of each
execution | Execution | time | time spent in the program
comp | Computation | execution | time outside of calls of MPI, threads and devices
mpi | MPI | execution | time in MPI calls
mpi_management | Management | mpi | time spent managing processes, communicators, files and windows
mpi_init_exit | Init/Finalize | mpi_management | time in MPI_Init and MPI_Finalize
mpi_mgmt_comm | Communicator | mpi_management | time making and freeing communicators and topologies
mpi_mgmt_file | File | mpi_management | time opening, closing and describing files
mpi_mgmt_win | Window | mpi_management | time making and freeing windows
mpi_synchronization | Synchronization | mpi | time in calls that move no data
mpi_sync_collective | Collective | mpi_synchronization | time in barriers
mpi_rma_synchronization | One-sided | mpi_synchronization | time synchronising windows
mpi_rma_sync_active | Active Target | mpi_rma_synchronization | time in fences, post, start, complete and wait
mpi_rma_sync_passive | Passive Target | mpi_rma_synchronization | time in locks, unlocks and flushes
mpi_communication | Communication | mpi | time in calls that move data
mpi_point2point | Point-to-point | mpi_communication | time in sends, receives, their completion and probes
mpi_collective | Collective | mpi_communication | time in collectives but barriers
mpi_rma_communication | One-sided | mpi_communication | time in puts, gets and accumulates
mpi_io | File I/O | mpi | time reading and writing files
mpi_io_individual | Individual | mpi_io | by each process for itself
mpi_io_collective | Collective | mpi_io | by all processes together
"""
_TIME_OF_THREADS = """
device_comp | On devices | comp | time of streams in kernels and copies
omp_time | OpenMP | execution | time in calls of OpenMP
omp_management | Management | omp_time | time beginning and ending teams, and creating tasks
omp_synchronization | Synchronization | omp_time | time in calls that wait for other threads
omp_barrier | Barrier | omp_synchronization | time in barriers of teams
omp_ebarrier | Explicit | omp_barrier | that the program asks for
omp_ibarrier | Implicit | omp_barrier | at the end of a construct
omp_critical | Critical | omp_synchronization | time until a critical section could be entered
omp_lock_api | Lock API | omp_synchronization | time until a lock was had
omp_ordered | Ordered | omp_synchronization | time until an ordered section could be entered
omp_taskwait | Task Wait | omp_synchronization | time until tasks were done
omp_task | Task Start | omp_synchronization | time with nothing to do before a task
pthread_time | POSIX threads | execution | time in calls of POSIX threads
pthread_management | Management | pthread_time | time making and ending threads
pthread_synchronization | Synchronization | pthread_time | time in calls that wait for other threads
pthread_lock_api | Mutex | pthread_synchronization | time until a mutex was had
pthread_conditional | Condition | pthread_synchronization | time until a condition was signalled
pthread_barrier | Barrier | pthread_synchronization | time in barriers
device_time | Devices | execution | time in calls for devices, and of streams that have work but do not begin it
device_launches | Launches | device_time | time of the host giving work to devices
device_comm | Copies | device_time | time of the host in copies that it waits for
device_sync | Synchronization | device_time | time of the host in calls that wait for devices
device_starts | Starts | device_time | time of streams that have work but do not begin it
"""
_TIME_OF_SHMEM = """
shmem_time | SHMEM | execution | time in calls of OpenSHMEM
shmem_management | Management | shmem_time | time beginning and ending, and in the symmetric heap
shmem_init_exit | Init/Finalize | shmem_management | time in shmem_init and shmem_finalize
shmem_memory | Symmetric heap | shmem_management | time allocating and freeing, which synchronise all
shmem_synchronization | Synchronization | shmem_time | time in calls that move no data
shmem_barrier | Barrier | shmem_synchronization | time in barriers and syncs
shmem_point | Point-to-point | shmem_synchronization | time until memory has changed, and in tests of it
shmem_lock | Lock | shmem_synchronization | time until locks were had, and releasing them
shmem_order | Memory ordering | shmem_synchronization | time in fences and quiets
shmem_communication | Communication | shmem_time | time in calls that move data
shmem_rma | One-sided | shmem_communication | time in puts and gets
shmem_atomic | Atomic | shmem_communication | time in atomic operations
shmem_collective | Collective | shmem_communication | time in collectives but barriers
"""
_COUNTS = """
visits | Visits | | occ | entries of a region or routine
syncs | MPI synchronizations | | occ | operations that move no data
syncs_p2p | Point-to-point | syncs | occ | messages without bytes, at either end
syncs_send | Sends | syncs_p2p | occ | messages without bytes sent
mpi_slr_count | Late Receivers | syncs_send | occ | calls that wait to send such a message
syncs_recv | Receives | syncs_p2p | occ | messages without bytes received
mpi_sls_count | Late Senders | syncs_recv | occ | calls that wait to receive such a message
mpi_slswo_count | Messages in Wrong Order | mpi_sls_count | occ |
syncs_coll | Collective | syncs | occ | parts in barriers, and in collectives without bytes
comms | MPI communications | | occ | operations that move data
comms_p2p | Point-to-point | comms | occ | messages with bytes, at either end
comms_send | Sends | comms_p2p | occ | messages with bytes sent
mpi_clr_count | Late Receivers | comms_send | occ | calls that wait to send such a message
comms_recv | Receives | comms_p2p | occ | messages with bytes received
mpi_cls_count | Late Senders | comms_recv | occ | calls that wait to receive such a message
mpi_clswo_count | Messages in Wrong Order | mpi_cls_count | occ |
comms_coll | Collective | comms | occ | parts in collectives
comms_cxch | Exchange | comms_coll | occ | that send and receive bytes
comms_csrc | As source | comms_coll | occ | that send bytes only
comms_cdst | As destination | comms_coll | occ | that receive bytes only
bytes | MPI bytes transferred | | bytes | bytes sent and received
bytes_p2p | Point-to-point | bytes | bytes | by messages
bytes_sent | Sent | bytes_p2p | bytes | by messages sent
bytes_rcvd | Received | bytes_p2p | bytes | by messages received
bytes_coll | Collective | bytes | bytes | by collectives
bytes_cout | Outgoing | bytes_coll | bytes | sent by collectives
bytes_cin | Incoming | bytes_coll | bytes | received by collectives
"""
_CAUSES = """
delay | Delay costs | | waiting, booked where it comes from: on those who came late
delay_mpi | MPI | delay |
delay_p2p | Point-to-point | delay_mpi |
delay_latesender_aggregate | Late Sender | delay_p2p |
delay_latesender | Short-term | delay_latesender_aggregate | waiting for who was late by itself
delay_latesender_longterm | Long-term | delay_latesender_aggregate | waiting for who was late because of this
delay_latereceiver_aggregate | Late Receiver | delay_p2p |
delay_latereceiver | Short-term | delay_latereceiver_aggregate |
delay_latereceiver_longterm | Long-term | delay_latereceiver_aggregate |
delay_collective | Collective | delay_mpi |
delay_barrier_aggregate | Wait at Barrier | delay_collective |
delay_barrier | Short-term | delay_barrier_aggregate |
delay_barrier_longterm | Long-term | delay_barrier_aggregate |
delay_n21_aggregate | Early Reduce | delay_collective |
delay_n21 | Short-term | delay_n21_aggregate |
delay_n21_longterm | Long-term | delay_n21_aggregate |
delay_12n_aggregate | Late Broadcast | delay_collective |
delay_12n | Short-term | delay_12n_aggregate |
delay_12n_longterm | Long-term | delay_12n_aggregate |
delay_n2n_aggregate | Wait at N x N | delay_collective |
delay_n2n | Short-term | delay_n2n_aggregate |
delay_n2n_longterm | Long-term | delay_n2n_aggregate |
delay_scan_aggregate | Early Scan | delay_collective | not in Scalasca
delay_scan | Short-term | delay_scan_aggregate |
delay_scan_longterm | Long-term | delay_scan_aggregate |
delay_finalize_aggregate | Wait at Finalize | delay_collective | not in Scalasca
delay_finalize | Short-term | delay_finalize_aggregate |
delay_finalize_longterm | Long-term | delay_finalize_aggregate |
delay_onesided | One-sided | delay_mpi | not in Scalasca
delay_window_aggregate | Wait at Window | delay_onesided | making and freeing windows, and fences
delay_window | Short-term | delay_window_aggregate |
delay_window_longterm | Long-term | delay_window_aggregate |
delay_rma_aggregate | Late Post and Early Wait | delay_onesided |
delay_rma | Short-term | delay_rma_aggregate |
delay_rma_longterm | Long-term | delay_rma_aggregate |
delay_rmalock_aggregate | Lock Contention | delay_onesided |
delay_rmalock | Short-term | delay_rmalock_aggregate |
delay_rmalock_longterm | Long-term | delay_rmalock_aggregate |
delay_progress_aggregate | Wait for Progress | delay_onesided |
delay_progress | Short-term | delay_progress_aggregate |
delay_progress_longterm | Long-term | delay_progress_aggregate |
waitstates_propagating_vs_terminal | Waits for messages (propagating or terminal) | |
mpi_wait_propagating | Propagating wait states | waitstates_propagating_vs_terminal | waiting that makes others wait for messages
mpi_wait_propagating_ls | Late Sender | mpi_wait_propagating |
mpi_wait_propagating_lr | Late Receiver | mpi_wait_propagating |
mpi_wait_terminal | Terminal wait states | waitstates_propagating_vs_terminal |
mpi_wait_terminal_ls | Late Sender | mpi_wait_terminal |
mpi_wait_terminal_lr | Late Receiver | mpi_wait_terminal |
waitstates_direct_vs_indirect | Waits for messages (direct or indirect) | |
mpi_wait_direct | Direct wait states | waitstates_direct_vs_indirect | waiting for who was late by itself
mpi_wait_direct_latesender | Late Sender | mpi_wait_direct |
mpi_wait_direct_latereceiver | Late Receiver | mpi_wait_direct |
mpi_wait_indirect | Indirect wait states | waitstates_direct_vs_indirect | waiting for who had to wait
mpi_wait_indirect_latesender | Late Sender | mpi_wait_indirect |
mpi_wait_indirect_latereceiver | Late Receiver | mpi_wait_indirect |
critical_path | Critical path | | time on the critical path
critical_path_imbalance | Imbalance | critical_path | what the path has above the mean of all processes
performance_impact | Performance impact | | length of the critical path, for every process
performance_impact_criticalpath | Critical-path activities | performance_impact |
critical_path_activities | Activity impact | performance_impact_criticalpath | time of processes that the path accounts for
critical_imbalance_impact | Imbalance impact | performance_impact_criticalpath | lost because the path does more than they
intra_partition_imbalance | Intra-partition imbalance | critical_imbalance_impact |
inter_partition_imbalance | Inter-partition imbalance | critical_imbalance_impact | in call paths that a process never enters
non_critical_path_activities | Non-critical-path activities | performance_impact | time of processes above that of the path
imbalance | Computational imbalance | | distance of computation from the mean of all processes
imbalance_above | Overload | imbalance |
imbalance_above_single | Single participant | imbalance_above |
imbalance_below | Underload | imbalance |
imbalance_below_bypass | Non-participation | imbalance_below |
imbalance_below_singularity | Singularity | imbalance_below_bypass |
"""
_CAUSES_OF_THREADS = """
delay_omp | OpenMP | delay |
delay_ompbarrier_aggregate | Wait at Barrier | delay_omp |
delay_ompbarrier | Short-term | delay_ompbarrier_aggregate |
delay_ompbarrier_longterm | Long-term | delay_ompbarrier_aggregate |
delay_ompidle_aggregate | Idle threads | delay_omp | threads that wait for work of their process
delay_ompidle | Short-term | delay_ompidle_aggregate |
delay_ompidle_longterm | Long-term | delay_ompidle_aggregate |
delay_omplock_aggregate | Lock Contention | delay_omp | not in Scalasca
delay_omplock | Short-term | delay_omplock_aggregate |
delay_omplock_longterm | Long-term | delay_omplock_aggregate |
delay_omptask_aggregate | Task Wait and Join | delay_omp | not in Scalasca
delay_omptask | Short-term | delay_omptask_aggregate |
delay_omptask_longterm | Long-term | delay_omptask_aggregate |
delay_pthread_aggregate | POSIX threads | delay | not in Scalasca
delay_pthread | Short-term | delay_pthread_aggregate |
delay_pthread_longterm | Long-term | delay_pthread_aggregate |
delay_devices | Devices | delay | not in Scalasca
delay_device_aggregate | Wait for Device | delay_devices | hosts and streams that wait for a stream
delay_device | Short-term | delay_device_aggregate |
delay_device_longterm | Long-term | delay_device_aggregate |
delay_deviceidle_aggregate | Idle devices | delay_devices | streams that wait for work of the host
delay_deviceidle | Short-term | delay_deviceidle_aggregate |
delay_deviceidle_longterm | Long-term | delay_deviceidle_aggregate |
"""
_CAUSES_OF_SHMEM = """
delay_shmem | SHMEM | delay | not in Scalasca
delay_shmemcollective_aggregate | Collective | delay_shmem | barriers, too
delay_shmemcollective | Short-term | delay_shmemcollective_aggregate |
delay_shmemcollective_longterm | Long-term | delay_shmemcollective_aggregate |
delay_shmemput_aggregate | Wait Until | delay_shmem |
delay_shmemput | Short-term | delay_shmemput_aggregate |
delay_shmemput_longterm | Long-term | delay_shmemput_aggregate |
delay_shmemlock_aggregate | Lock Competition | delay_shmem |
delay_shmemlock | Short-term | delay_shmemlock_aggregate |
delay_shmemlock_longterm | Long-term | delay_shmemlock_aggregate |
"""


def _rows(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")] for line in text.strip().splitlines()]


def _in_ns(text: str) -> tuple[Metric, ...]:
    return tuple(Metric(name, title, parent, NS, meaning) for name, title, parent, meaning in _rows(text))


TIME_METRICS, CAUSE_METRICS = _in_ns(_TIME), _in_ns(_CAUSES)
TIME_OF_THREADS, CAUSES_OF_THREADS = _in_ns(_TIME_OF_THREADS), _in_ns(_CAUSES_OF_THREADS)
"""Those that traces with calls of threads or devices have, too."""
TIME_OF_SHMEM, CAUSES_OF_SHMEM = _in_ns(_TIME_OF_SHMEM), _in_ns(_CAUSES_OF_SHMEM)
"""Those that traces with calls of OpenSHMEM have."""
COUNT_METRICS = tuple(Metric(*row) for row in _rows(_COUNTS))


def time_metrics(shmem: bool, threads: bool) -> tuple[Metric, ...]:
    """Return the metrics of time of a trace with, or without, calls of OpenSHMEM, and of threads or devices."""
    return TIME_METRICS + TIME_OF_SHMEM * shmem + TIME_OF_THREADS * threads


def cause_metrics(shmem: bool, threads: bool) -> tuple[Metric, ...]:
    """Return the metrics of causes likewise."""
    return CAUSE_METRICS + CAUSES_OF_SHMEM * shmem + CAUSES_OF_THREADS * threads


def ancestors(name: str, metrics: dict[str, Metric]) -> list[str]:
    """Return the names of a metric and of all that contain it, itself first."""
    out = []
    while name:
        out.append(name)
        name = metrics[name].parent
    return out


def in_order(metrics: list[Metric]) -> tuple[Metric, ...]:
    """Return metrics in depth-first order, children in the order given. A metric whose parent is not among them is at the top."""
    present = {metric.name for metric in metrics}
    below: dict[str, list[Metric]] = {}
    for metric in metrics:
        below.setdefault(metric.parent if metric.parent in present else "", []).append(metric)
    out: list[Metric] = []

    def visit(name: str) -> None:
        for metric in below.get(name, []):
            out.append(metric)
            visit(metric.name)

    visit("")
    return tuple(out)
