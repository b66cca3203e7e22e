"""What the analysis knows of MPI routines: the group each belongs to, and the order in which groups are told.

Names are those of the records: lower case, without `MPI_`. Groups are those of R. Rabenseifner, Automatic MPI counter profiling, Fig. 11.
"""

from __future__ import annotations

from collections.abc import Iterable

OTHER = "other"
_NAMES = {
    "blocking point-to-point": """send ssend bsend rsend recv mrecv sendrecv sendrecv_replace probe mprobe get_count get_elements
        get_elements_x buffer_attach buffer_detach buffer_flush isendrecv isendrecv_replace""",
    "nonblocking point-to-point": """isend issend ibsend irsend irecv imrecv iprobe improbe wait waitall waitany waitsome test testall
        testany testsome cancel test_cancelled request_free request_get_status""",
    "persistent point-to-point": """send_init ssend_init bsend_init rsend_init recv_init start startall psend_init precv_init pready
        pready_range pready_list parrived""",
    "derived datatype": """type_commit type_free type_size type_extent type_lb type_ub address get_address type_contiguous type_vector
        type_hvector type_indexed type_hindexed type_struct type_dup""",
    "pack and unpack": "pack unpack pack_size pack_external unpack_external pack_external_size",
    "collective": """barrier bcast gather gatherv scatter scatterv allgather allgatherv alltoall alltoallv alltoallw reduce allreduce
        reduce_scatter reduce_scatter_block scan exscan reduce_local op_create op_free op_commutative""",
    "communicator and group": "",
    "inter-communicator": "intercomm_create intercomm_merge comm_remote_size comm_remote_group comm_test_inter",
    "attribute": "attr_get attr_put attr_delete keyval_create keyval_free comm_create_keyval comm_free_keyval comm_get_attr comm_set_attr",
    "error handler": "error_class error_string errhandler_create errhandler_free errhandler_get errhandler_set",
    "topology": """graph_create cartdim_get graphdims_get dims_create topo_test dist_graph_create dist_graph_create_adjacent""",
    "one-sided": "put get accumulate get_accumulate rput rget raccumulate rget_accumulate fetch_and_op compare_and_swap",
    "file": "",
    "wtime": "wtime wtick",
    "environment": "init init_thread finalize initialized finalized comm_size comm_rank get_processor_name pcontrol abort query_thread",
}
_PREFIXES = {
    "comm_": "communicator and group",
    "group_": "communicator and group",
    "type_": "derived datatype",
    "cart_": "topology",
    "graph_": "topology",
    "dist_graph_": "topology",
    "neighbor_": "collective",
    "ineighbor_": "collective",
    "win_": "one-sided",
    "file_": "file",
    "get_": "environment",
}
GROUPS = (*_NAMES, OTHER)
"""Groups in the order of the report. A job's mask has the bit k if it used a routine of group k."""
_GROUP = {name: group for group, names in _NAMES.items() for name in names.split()}
_COLLECTIVE = {name for name, group in _GROUP.items() if group == "collective"}
SECTIONS = {group: "point-to-point" if group.endswith("point-to-point") else group for group in GROUPS}
"""The part of the table of 13 columns a group stands in: the three point-to-point groups stand together."""

_SENDS = "send ssend bsend rsend isend issend ibsend irsend sendrecv sendrecv_replace start startall"
SENDS = frozenset(_SENDS.split())
"""Routines whose bytes are sent messages."""
BUFFERS = ("recv", "irecv")
"""Routines whose bytes are, in the paper's records, those of the buffer."""


def group(name: str) -> str:
    """Return the group of a routine, OTHER if nobody knows it."""
    if name in _GROUP:
        return _GROUP[name]
    if name.startswith("i") and name[1:] in _COLLECTIVE:
        return "collective"
    return next((found for prefix, found in _PREFIXES.items() if name.startswith(prefix)), OTHER)


def mask(names: Iterable[str]) -> int:
    """Return the groups of some routines as bits."""
    bits = 0
    for name in names:
        bits |= _bit(name)
    return bits


_BITS: dict[str, int] = {}


def _bit(name: str) -> int:
    if name not in _BITS:
        if len(_BITS) > 10_000:  # names come from outside
            _BITS.clear()
        _BITS[name] = 1 << GROUPS.index(group(name))
    return _BITS[name]
