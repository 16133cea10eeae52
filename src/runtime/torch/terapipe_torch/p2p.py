"""
Sends and receives between pipeline ranks. NCCL ignores tags and one communicator is one queue for both
directions, so each directed pair of ranks has a group of its own, and its receives are posted in the
order in which the other rank sends.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import torch
import torch.distributed as dist

from terapipe_torch.mesh import Mesh, pair_groups
from terapipe_torch.plan import Message, Plan, messages_by_edge

_posted_ahead = {"cpu": 8, "cuda": 2}


def _edge_groups(mesh: Mesh, edges: list[tuple[int, int]]) -> dict[tuple[int, int], dist.ProcessGroup | None]:
    """gloo keeps directions apart in one group, and has threads for each group."""
    if dist.is_initialized() and dist.get_backend() == "gloo":
        return dict.fromkeys(edges, mesh.pp.group)
    return dict(connected_groups(mesh, edges))


def connected_groups(mesh: Mesh, edges: list[tuple[int, int]]) -> dict[tuple[int, int], dist.ProcessGroup]:
    """
    A group for each edge, with one message over it, in an order that all ranks share. NCCL connects two ranks in their
    first message, and holds the host until both have begun: two ranks that first post receives wait for each other forever
    (docs/runtime.md, On GPUs).
    """
    groups = pair_groups(mesh, edges)
    message = torch.zeros(1, device=mesh.device)
    for (source, target), group in sorted(groups.items(), key=lambda edge: edge[0]):
        if mesh.rank == mesh.rank_at(source):
            dist.send(message, mesh.rank_at(target), group=group)
        else:
            dist.recv(message, mesh.rank_at(source), group=group)
    if mesh.device.type == "cuda":
        torch.cuda.synchronize()
    return groups


def join_edge_groups(plan: Plan, mesh: Mesh) -> None:
    """On a rank that a plan leaves idle: groups are made by all ranks of the world."""
    _edge_groups(mesh, sorted(messages_by_edge(plan)))


class _Incoming:
    """Receives from one rank, posted some messages ahead, in its order of sending. `untaken`: posted and not yet needed."""

    def __init__(self, source: int, group: dist.ProcessGroup | None, messages: list[Message]) -> None:
        self.source, self.group, self.messages = source, group, messages
        self.next = self.untaken = 0

    def post(self, empty: Callable[[Message], torch.Tensor], posted: dict[Message, tuple[dist.Work, torch.Tensor]]) -> None:
        message = self.messages[self.next]
        tensor = empty(message)
        work = dist.irecv(tensor, self.source, group=self.group)
        if work is None:
            raise AssertionError("irecv must be called by a rank of its group")
        posted[message] = (work, tensor)
        self.next += 1
        self.untaken += 1


class Mailbox:
    """
    The messages of one step for this rank. `empty(message)` makes the tensor that a message is received
    into; `received()` is called when one has been waited for. Stages of one rank hand over without a copy.
    `groups`: of another mailbox with these edges.
    """

    def __init__(
        self,
        plan: Plan,
        mesh: Mesh,
        empty: Callable[[Message], torch.Tensor],
        received: Callable[[], None],
        groups: dict[tuple[int, int], dist.ProcessGroup | None] | None = None,
    ) -> None:
        self._plan, self._mesh, self._empty, self._received = plan, mesh, empty, received
        self._edges = messages_by_edge(plan)
        self.groups = _edge_groups(mesh, sorted(self._edges)) if groups is None else groups
        self._here = mesh.pp.index
        self._local: dict[Message, torch.Tensor] = {}
        self._posted: dict[Message, tuple[dist.Work, torch.Tensor]] = {}
        self._sent: deque[tuple[dist.Work, torch.Tensor]] = deque()
        self._incoming: dict[int, _Incoming] = {}
        self._ahead = _posted_ahead[mesh.device.type]

    def begin(self) -> None:
        """Posts the first receives of a step. Once a step: a receive cannot be taken back."""
        self._incoming = {
            source: _Incoming(self._mesh.rank_at(source), self.groups[source, target], messages)
            for (source, target), messages in sorted(self._edges.items())
            if target == self._here
        }
        for incoming in self._incoming.values():
            self._post_ahead(incoming)

    def send(self, message: Message, tensor: torch.Tensor) -> None:
        """Never blocks: the tensor is kept until it has arrived."""
        target = self._plan.rank_of(message.stage)
        if target == self._here:
            self._local[message] = tensor
            return
        tensor = tensor.contiguous()
        work = dist.isend(tensor, self._mesh.rank_at(target), group=self.groups[self._here, target])
        if work is not None:
            self._sent.append((work, tensor))
        while self._sent and self._sent[0][0].is_completed():
            self._sent.popleft()

    def receive(self, message: Message, source_stage: int) -> torch.Tensor:
        """The tensor of a message, waited for."""
        if message in self._local:
            return self._local.pop(message)
        incoming = self._incoming[self._plan.rank_of(source_stage)]
        while message not in self._posted:
            incoming.post(self._empty, self._posted)
        work, tensor = self._posted.pop(message)
        incoming.untaken -= 1
        work.wait()
        self._received()
        self._post_ahead(incoming)
        return tensor

    def finish(self) -> None:
        """Waits for all sends, and checks that nothing was sent that nobody took."""
        for work, _ in self._sent:
            work.wait()
        self._sent.clear()
        left = [*self._local, *self._posted]
        if left:
            raise AssertionError(f"messages that no pass took: {left}")

    def close(self) -> None:
        """Ends the groups that were made for pairs of ranks."""
        for group in self.groups.values():
            if group is not None and group is not self._mesh.pp.group:
                dist.destroy_process_group(group)

    def _post_ahead(self, incoming: _Incoming) -> None:
        while incoming.next < len(incoming.messages) and incoming.untaken < self._ahead:
            incoming.post(self._empty, self._posted)


class Unsent:
    """In place of a mailbox: nothing is sent, and what would arrive is random."""

    def __init__(self, empty: Callable[[Message], torch.Tensor]) -> None:
        self._empty = empty

    def begin(self) -> None:
        """Nothing to do."""

    def send(self, message: Message, tensor: torch.Tensor) -> None:
        """Drops it."""

    def receive(self, message: Message, source_stage: int) -> torch.Tensor:
        """A tensor of a message's shape, from any stage."""
        return self._empty(message).normal_()

    def finish(self) -> None:
        """Nothing to do."""
