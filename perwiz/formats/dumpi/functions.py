"""The functions of a DUMPI trace in the order of their numbers, and what their records hold."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from perwiz.kernels import dumpi_rows as rows
from perwiz.trace import operations

_NAMES = """
    Send Recv Get_count Bsend Ssend Rsend Buffer_attach Buffer_detach Isend Ibsend Issend Irsend Irecv Wait Test Request_free Waitany
    Testany Waitall Testall Waitsome Testsome Iprobe Probe Cancel Test_cancelled Send_init Bsend_init Ssend_init Rsend_init Recv_init
    Start Startall Sendrecv Sendrecv_replace Type_contiguous Type_vector Type_hvector Type_indexed Type_hindexed Type_struct Address
    Type_extent Type_size Type_lb Type_ub Type_commit Type_free Get_elements Pack Unpack Pack_size Barrier Bcast Gather Gatherv
    Scatter Scatterv Allgather Allgatherv Alltoall Alltoallv Reduce Op_create Op_free Allreduce Reduce_scatter Scan Group_size
    Group_rank Group_translate_ranks Group_compare Comm_group Group_union Group_intersection Group_difference Group_incl Group_excl
    Group_range_incl Group_range_excl Group_free Comm_size Comm_rank Comm_compare Comm_dup Comm_create Comm_split Comm_free
    Comm_test_inter Comm_remote_size Comm_remote_group Intercomm_create Intercomm_merge Keyval_create Keyval_free Attr_put Attr_get
    Attr_delete Topo_test Cart_create Dims_create Graph_create Graphdims_get Graph_get Cartdim_get Cart_get Cart_rank Cart_coords
    Graph_neighbors_count Graph_neighbors Cart_shift Cart_sub Cart_map Graph_map Get_processor_name Get_version Errhandler_create
    Errhandler_set Errhandler_get Errhandler_free Error_string Error_class Wtime Wtick Init Finalize Initialized Abort Pcontrol
    Close_port Comm_accept Comm_connect Comm_disconnect Comm_get_parent Comm_join Comm_spawn Comm_spawn_multiple Lookup_name Open_port
    Publish_name Unpublish_name Accumulate Get Put Win_complete Win_create Win_fence Win_free Win_get_group Win_lock Win_post
    Win_start Win_test Win_unlock Win_wait Alltoallw Exscan Add_error_class Add_error_code Add_error_string Comm_call_errhandler
    Comm_create_keyval Comm_delete_attr Comm_free_keyval Comm_get_attr Comm_get_name Comm_set_attr Comm_set_name File_call_errhandler
    Grequest_complete Grequest_start Init_thread Is_thread_main Query_thread Status_set_cancelled Status_set_elements
    Type_create_keyval Type_delete_attr Type_dup Type_free_keyval Type_get_attr Type_get_contents Type_get_envelope Type_get_name
    Type_set_attr Type_set_name Type_match_size Win_call_errhandler Win_create_keyval Win_delete_attr Win_free_keyval Win_get_attr
    Win_get_name Win_set_attr Win_set_name Alloc_mem Comm_create_errhandler Comm_get_errhandler Comm_set_errhandler
    File_create_errhandler File_get_errhandler File_set_errhandler Finalized Free_mem Get_address Info_create Info_delete Info_dup
    Info_free Info_get Info_get_nkeys Info_get_nthkey Info_get_valuelen Info_set Pack_external Pack_external_size Request_get_status
    Type_create_darray Type_create_hindexed Type_create_hvector Type_create_indexed_block Type_create_resized Type_create_struct
    Type_create_subarray Type_get_extent Type_get_true_extent Unpack_external Win_create_errhandler Win_get_errhandler
    Win_set_errhandler File_open File_close File_delete File_set_size File_preallocate File_get_size File_get_group File_get_amode
    File_set_info File_get_info File_set_view File_get_view File_read_at File_read_at_all File_write_at File_write_at_all
    File_iread_at File_iwrite_at File_read File_read_all File_write File_write_all File_iread File_iwrite File_seek File_get_position
    File_get_byte_offset File_read_shared File_write_shared File_iread_shared File_iwrite_shared File_read_ordered File_write_ordered
    File_seek_shared File_get_position_shared File_read_at_all_begin File_read_at_all_end File_write_at_all_begin
    File_write_at_all_end File_read_all_begin File_read_all_end File_write_all_begin File_write_all_end File_read_ordered_begin
    File_read_ordered_end File_write_ordered_begin File_write_ordered_end File_get_type_extent Register_datarep File_set_atomicity
    File_get_atomicity File_sync IO_Test IO_Wait IO_Testall IO_Waitall IO_Testany IO_Waitany IO_Waitsome IO_Testsome
"""
NAMES = (*_NAMES.split(), "ALL_FUNCTIONS", "Function_enter", "Function_exit", "END_OF_STREAM")
"""Without `MPI_`; those of the requests of ROMIO begin with `IO_`."""
_LAYOUTS = {
    "i=count h=type i=peer i=tag h=comm": "Send Bsend Ssend Rsend",
    "i=count h=type i=peer i=tag h=comm S=status": "Recv",
    "i=count h=type i=peer i=tag h=comm i=request": "Isend Ibsend Issend Irsend Irecv Send_init Bsend_init Ssend_init Rsend_init Recv_init",
    "i=request S=status": "Wait",
    "i=request i=flag S=status": "Test",
    "i=request": "Request_free Cancel Start",
    "i I=list": "Startall",
    "i I=list i=index S=status": "Waitany",
    "i I=list i=index i=flag S=status": "Testany",
    "i I=list S=status": "Waitall",
    "i I=list i=flag S=status": "Testall",
    "i I=list i I=indices S=status": "Waitsome Testsome",
    "i=peer i=tag h=comm i S": "Iprobe",
    "i=peer i=tag h=comm S": "Probe",
    "i=count h=type i=peer i=tag i=count2 h=type2 i=peer2 i=tag2 h=comm S=status": "Sendrecv",
    "i=count h=type i=peer i=tag i=peer2 i=tag2 h=comm S=status": "Sendrecv_replace",
    "h=comm": "Barrier Comm_free Comm_disconnect",
    "h=comm i=count": "Comm_size Comm_rank",
    "h=comm i": "Comm_test_inter Comm_remote_size Abort",
    "i=count h=type i=root h=comm": "Bcast",
    "i=rank i=count h=type i=root h=comm ?i=count2 ?h=type2": "Gather",
    "i=rank i i=count h=type i=root h=comm ?+=sum2 ?I h=type2": "Gatherv",
    "i=rank i=count2 h=type2 i=root h=comm ?i=count ?h=type": "Scatter",
    "i=rank i h=type i=count2 h=type2 i=root h=comm ?+=sum ?I": "Scatterv",
    "i=count h=type i=count2 h=type2 h=comm": "Allgather Alltoall",
    "i i=count h=type +=sum2 I h=type2 h=comm": "Allgatherv",
    "i +=sum I h=type +=sum2 I h=type2 h=comm": "Alltoallv",
    "i I=counts I H=types I=counts2 I H=types2 h=comm": "Alltoallw",
    "i=count h=type b i=root h=comm": "Reduce",
    "i=count h=type b h=comm": "Allreduce Scan Exscan",
    "i I=counts h=type b h=comm": "Reduce_scatter",
    "h=comm h": "Comm_dup Comm_group Comm_remote_group",
    "h=comm h h": "Comm_create",
    "h=comm i i h": "Comm_split",
    "h=comm i h i i h": "Intercomm_create",
    "h=comm i h": "Intercomm_merge",
    "h=comm i I I i h": "Cart_create",
    "i h=comm I h": "Cart_sub",
    "i h=comm i I I i h": "Graph_create",
    "h=comm c b h h": "File_open",
    "i=rank i=root h=comm h ?c ?C ?i ?h ?I": "Comm_spawn",
    "i i=rank i=root h=comm h ?i ?C ?D ?I ?H ?I": "Comm_spawn_multiple",
    "i i h h=comm h=window": "Win_create",
    "b h=window": "Win_fence",
    "h=window": "Win_complete Win_free Win_wait",
    "h=window i": "Win_test",
    "b i=peer b h=window": "Win_lock",
    "i=peer h=window": "Win_unlock",
    "h b h=window": "Win_post Win_start",
    "i=count h=type i=peer i i h b h=window": "Accumulate",
    "i=count h=type i=peer i i h h=window": "Get Put",
    "S h i": "Get_count Get_elements Status_set_elements",
    "i": """Buffer_attach Buffer_detach Address Initialized Pcontrol Add_error_class Grequest_complete Grequest_start Is_thread_main
        Finalized Get_address""",
    "S i": "Test_cancelled Status_set_cancelled",
    "i h h": "Type_contiguous",
    "i i i h h": "Type_vector Type_hvector Type_create_hvector",
    "i I I h h": "Type_indexed Type_hindexed Type_create_hindexed",
    "h i": """Type_extent Type_size Type_lb Type_ub Group_size Group_rank Attr_put Attr_delete Cartdim_get Comm_call_errhandler
        File_call_errhandler Win_call_errhandler Info_get_nkeys File_set_atomicity File_get_atomicity""",
    "h": """Type_commit Type_free Group_free Keyval_create Keyval_free Errhandler_create Errhandler_free Comm_get_parent
        Comm_create_keyval Comm_free_keyval Type_create_keyval Type_free_keyval Win_create_keyval Win_free_keyval
        Comm_create_errhandler File_create_errhandler Info_create Info_free Win_create_errhandler File_close File_sync""",
    "i h i i i h": "Pack",
    "i i i i h h": "Unpack",
    "i h h i": "Pack_size",
    "i b": "Op_create",
    "b": "Op_free Query_thread",
    "h i I h I": "Group_translate_ranks",
    "h h b": "Group_compare Comm_compare",
    "h h h": "Group_union Group_intersection Group_difference",
    "h i I h": "Group_incl Group_excl",
    "h i J h": "Group_range_incl Group_range_excl",
    "h i i": "Attr_get Graphdims_get Graph_neighbors_count Type_get_extent Type_get_true_extent",
    "h b": "Topo_test File_get_amode",
    "i i I I": "Dims_create",
    "i i h i i I I": "Graph_get",
    "i h i I I I i": "Cart_get",
    "i h I i": "Cart_rank",
    "i h i i I": "Cart_coords Graph_neighbors",
    "h i i i i": "Cart_shift",
    "h i I I i": "Cart_map",
    "i h i I I i": "Graph_map",
    "c i": "Get_processor_name",
    "i i": "Get_version Error_class Add_error_code",
    "h h": """Errhandler_set Errhandler_get Win_get_group Comm_delete_attr Comm_set_attr Type_delete_attr Type_dup Type_set_attr
        Win_delete_attr Win_set_attr Comm_get_errhandler Comm_set_errhandler File_get_errhandler File_set_errhandler Info_dup
        Win_get_errhandler Win_set_errhandler File_get_group File_set_info File_get_info""",
    "i c i": "Error_string",
    "": "Wtime Wtick Finalize Free_mem",
    "C": "Init",
    "c": "Close_port Register_datarep",
    "c h i h h": "Comm_accept Comm_connect",
    "i h": "Comm_join Alloc_mem",
    "c h c": "Lookup_name Publish_name Unpublish_name",
    "h c": "Open_port Comm_set_name Type_set_name Win_set_name Info_delete",
    "i c": "Add_error_string",
    "h h i": "Comm_get_attr Type_get_attr Win_get_attr File_get_type_extent",
    "h c i": "Comm_get_name Type_get_name Win_get_name",
    "C b b": "Init_thread",
    "i i i h i i i I I H": "Type_get_contents",
    "h i i i b": "Type_get_envelope",
    "b i h": "Type_match_size",
    "h c i c i": "Info_get",
    "h i c": "Info_get_nthkey",
    "h c i i": "Info_get_valuelen",
    "h c c": "Info_set",
    "c i h i i i": "Pack_external",
    "c i h i": "Pack_external_size",
    "i i S": "Request_get_status IO_Test",
    "i i i I B I I b h h": "Type_create_darray",
    "i i I h h": "Type_create_indexed_block",
    "h i i h": "Type_create_resized",
    "i I I H h": "Type_struct Type_create_struct",
    "i I I I b h h": "Type_create_subarray",
    "c i i i i h": "Unpack_external",
    "c h": "File_delete",
    "h q": "File_set_size File_preallocate File_get_size File_get_position File_get_position_shared",
    "h q h h c h": "File_set_view",
    "h q h h c": "File_get_view",
    "h q i h S": "File_read_at File_read_at_all File_write_at File_write_at_all",
    "h q i h i": "File_iread_at File_iwrite_at",
    "h i h S": "File_read File_read_all File_write File_write_all File_read_shared File_write_shared File_read_ordered File_write_ordered",
    "h i h i": "File_iread File_iwrite File_iread_shared File_iwrite_shared",
    "h q b": "File_seek File_seek_shared",
    "h q q": "File_get_byte_offset",
    "h q i h": "File_read_at_all_begin File_write_at_all_begin",
    "h S": "File_read_at_all_end File_write_at_all_end File_read_all_end File_write_all_end File_read_ordered_end File_write_ordered_end",
    "h i h": "File_read_all_begin File_write_all_begin File_read_ordered_begin File_write_ordered_begin",
    "i S": "IO_Wait",
    "i I i S": "IO_Testall IO_Waitany",
    "i I S": "IO_Waitall",
    "i I i i S": "IO_Testany",
    "i I i I S": "IO_Waitsome IO_Testsome",
    "q": "Function_enter Function_exit",
}
"""What the records of functions hold, in order: a number of 1 (b), 2 (h), 4 (i) or 8 bytes (q); a text (c), lists of texts (C) and of such
lists (D); lists of numbers of 1 (B), 2 (H) and 4 bytes (I), of such lists (J), `+` one of which the sum counts; statuses (S). `=` names the
slot, `?` says that only the root of the collective has it."""
_OLD_LISTS = {"Type_struct": "i I i H h"}
"""Before version 0.6.9 a struct had the first of its displacements alone."""
_FORMS = {
    "b": rows.BYTE,
    "h": rows.SHORT,
    "i": rows.INT,
    "q": rows.LONG,
    "c": rows.BYTES,
    "C": rows.TEXTS,
    "D": rows.LISTS_OF_TEXTS,
    "B": rows.BYTES,
    "H": rows.SHORTS,
    "I": rows.INTS,
    "J": rows.LISTS,
    "+": rows.SUMMED,
    "S": rows.STATUSES,
}
_WIDTHS = {"b": 1, "h": 2, "i": 4, "q": 8}
_SLOTS = {name: slot for slot, name in enumerate(rows.SLOTS)}
_DOES = {
    rows.SEND: "Send Bsend Ssend Rsend",
    rows.RECV: "Recv",
    rows.EXCHANGE: "Sendrecv Sendrecv_replace",
    rows.ISEND: "Isend Ibsend Issend Irsend",
    rows.IRECV: "Irecv",
    rows.SEND_INIT: "Send_init Bsend_init Ssend_init Rsend_init",
    rows.RECV_INIT: "Recv_init",
    rows.START: "Start",
    rows.STARTALL: "Startall",
    rows.WAIT: "Wait",
    rows.TEST: "Test",
    rows.ALL: "Waitall Testall",
    rows.ANY: "Waitany Testany",
    rows.SOME: "Waitsome Testsome",
    rows.CANCEL: "Cancel",
    rows.FREE: "Request_free",
    rows.PROBE: "Probe Iprobe",
    rows.ROOTED: "Bcast Gather Gatherv Scatter Scatterv Reduce",
    rows.ON_WINDOW: "Win_fence Win_free Win_complete Win_wait Win_test Win_lock Win_unlock Win_post Win_start Accumulate Get Put",
    rows.REGION_ENTER: "Function_enter",
    rows.REGION_LEAVE: "Function_exit",
    rows.UNKNOWN: "ALL_FUNCTIONS END_OF_STREAM",
    rows.SAYS_SIZE: "Comm_size",
    rows.SAYS_RANK: "Comm_rank",
    rows.MEETS: "Finalize",
}
_MOVES = {
    rows.BOTH: "Allreduce Scan Exscan",
    rows.FROM_ROOT: "Bcast",
    rows.TO_ROOT: "Reduce",
    rows.GATHERS: "Gather",
    rows.GATHERS_V: "Gatherv",
    rows.SCATTERS: "Scatter",
    rows.SCATTERS_V: "Scatterv",
    rows.TO_ALL: "Allgather",
    rows.TO_ALL_V: "Allgatherv",
    rows.ALL_TO_ALL: "Alltoall",
    rows.ALL_TO_ALL_V: "Alltoallv",
    rows.ALL_TO_ALL_W: "Alltoallw",
    rows.REDUCES_PARTS: "Reduce_scatter",
    rows.PUTS: "Put Accumulate",
    rows.GETS: "Get",
}
TYPES = (
    *("Type_contiguous", "Type_vector", "Type_hvector", "Type_indexed", "Type_hindexed", "Type_struct", "Type_dup", "Type_size"),
    *("Type_create_hindexed", "Type_create_hvector", "Type_create_indexed_block", "Type_create_resized", "Type_create_struct"),
    "Type_create_subarray",
)
"""Functions that tell the size of a datatype."""
GROUPS = (
    *("Comm_group", "Comm_remote_group", "Win_get_group", "Group_union", "Group_intersection", "Group_difference", "Group_incl"),
    *("Group_excl", "Group_range_incl", "Group_range_excl"),
)
"""Functions that make groups."""
COMMUNICATORS = (
    *("Comm_dup", "Comm_create", "Comm_split", "Cart_create", "Cart_sub", "Graph_create", "Intercomm_create", "Intercomm_merge"),
    *("Comm_accept", "Comm_connect", "Comm_get_parent", "Comm_join", "Comm_spawn", "Comm_spawn_multiple"),
)
"""Functions that make communicators."""
WINDOWS = ("Win_create", "Win_post", "Win_start", "Win_lock")
"""Functions that make windows, or say who opens them how."""
_DEFINING = {*TYPES, *GROUPS, *COMMUNICATORS, *WINDOWS}
Version = tuple[int, int, int]
STATUSES_HAVE_TAGS, STRUCTS_HAVE_LISTS = (0, 6, 3), (0, 6, 9)
"""Since when."""


def layout(name: str, version: Version) -> str:
    """Return what the records of a function hold."""
    return _OLD_LISTS[name] if name in _OLD_LISTS and version < STRUCTS_HAVE_LISTS else _layouts()[name]


@functools.lru_cache(1)
def _layouts() -> dict[str, str]:
    return {name: text for text, names in _LAYOUTS.items() for name in names.split()}


def _fixed(words: list[str]) -> tuple[int, int]:
    """Return the bytes of arguments, and where the communicator is among them, -1 none; or twice -1 where not all have one size."""
    widths = [_WIDTHS.get(word[0], -1) for word in words]
    if -1 in widths:
        return -1, -1
    ends = [sum(widths[:k]) for k in range(len(words) + 1)]
    return ends[-1], ends[words.index("h=comm")] if "h=comm" in words else -1


@functools.lru_cache(4)
def table(lists: bool) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return a FUNCTION per number, and the ARGUMENTs of all; `lists`: the version has lists in structs."""
    version = STRUCTS_HAVE_LISTS if lists else (0, 0, 0)
    does, moves = ({name: value for value, names in kinds.items() for name in names.split()} for kinds in (_DOES, _MOVES))
    functions = np.zeros(len(NAMES), rows.FUNCTION)
    arguments: list[tuple[int, int, bool]] = []
    for number, name in enumerate(NAMES):
        op = operations.OP.get(f"MPI_{name}", 0)
        words = layout(name, version).split() if does.get(name) != rows.UNKNOWN else []
        values = {"op": op, "does": does.get(name, rows.CALL), "mode": operations.MODE[op], "moves": moves.get(name, rows.STAYS)}
        fixed, comm_at = _fixed(words) if does.get(name) not in (rows.SAYS_SIZE, rows.SAYS_RANK) else (-1, -1)
        values |= {"fixed": fixed, "comm_at": comm_at, "defines": name in _DEFINING}
        for column, value in {**values, "steps": len(words), "first_step": len(arguments)}.items():
            functions[column][number] = value
        for word in words:
            form, _, slot = word.lstrip("?").partition("=")
            arguments.append((_FORMS[form], _SLOTS[slot or "ignored"], word.startswith("?")))
    return functions.view(np.recarray), np.array(arguments, rows.ARGUMENT).view(np.recarray)
