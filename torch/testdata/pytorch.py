"""Records what PyTorch does in pytorch.json, which pytorch_test.go compares with package torch.

Needs PyTorch with Gloo and NumPy, and no accelerator:

    python3 torch/testdata/pytorch.py > torch/testdata/pytorch.json
"""

import base64
import datetime
import io
import json
import os
import sys
import tempfile

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def flat(x):
    return x.detach().reshape(-1).tolist()


def tensor(x):
    return {"shape": list(x.shape), "values": flat(x)}


def views():
    """Returns shapes and values of views of arange(n).reshape(shape)."""
    cases = [
        ([6, 4], "view", [8, 3]),
        ([6, 4], "view", [2, -1, 4]),
        ([6, 4], "view", [-1]),
        ([7, 3, 2], "view", [7, -1]),
        ([7, 5], "narrow", [0, 2, 3]),
        ([7, 5], "narrow", [-1, 1, 3]),
        ([7, 5], "narrow", [0, -3, 2]),
        ([7, 5], "narrow", [1, 5, 0]),
        ([3, 5, 2], "select", [0, 1]),
        ([3, 5, 2], "select", [-2, -1]),
        ([9], "select", [0, 8]),
        ([7, 3], "split", [3, 0]),
        ([7, 3], "split", [2, -1]),
        ([7, 3], "chunk", [3, 0]),
        ([5, 3], "chunk", [4, 0]),
        ([2, 7], "chunk", [5, 1]),
    ]
    out = []
    for shape, op, args in cases:
        x = torch.arange(np.prod(shape)).reshape(shape)
        y = x.view(args) if op == "view" else getattr(x, op)(*args)
        parts = list(y) if isinstance(y, tuple) else [y]
        out.append({
            "shape": shape, "op": op, "args": args, "contiguous": [bool(p.is_contiguous()) for p in parts],
            "parts": [tensor(p) for p in parts],
        })
    return out


def files():
    """Returns NumPy files of bool and of many axes, with their contents."""
    arrays = [
        np.array([True, False, True, True, False]),
        np.arange(6).reshape(2, 3) % 2 == 0,
        np.arange(2 * 3 * 1 * 2 * 5, dtype=np.float32).reshape(2, 3, 1, 2, 5),
        np.arange(2 * 1 * 3 * 1 * 2 * 2, dtype=np.int16).reshape(2, 1, 3, 1, 2, 2),
    ]
    out = []
    for a in arrays:
        f = io.BytesIO()
        np.save(f, a)
        t = torch.from_numpy(a)
        out.append({"npy": base64.b64encode(f.getvalue()).decode(), "dtype": str(t.dtype).removeprefix("torch."),
                    "shape": list(a.shape), "values": [float(v) for v in a.reshape(-1)]})
    return out


def raised(f):
    """Returns the message of the error that f raises, or an empty string."""
    try:
        f()
    except Exception as e:  # every error is of interest
        return f"{type(e).__name__}: {str(e).splitlines()[0]}"
    return ""


def worker(rank, n, folder):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(29500 + n))
    dist.init_process_group("gloo", rank=rank, world_size=n, timeout=datetime.timedelta(seconds=60))
    seen = {}

    # Groups: the order of ranks, and translation.
    given = [n - 1, 0, n // 2]
    g = dist.new_group(given)
    seen["new_group"] = {
        "given": given, "ranks": dist.get_process_group_ranks(g),
        "group_rank": [dist.get_group_rank(g, r) for r in sorted(given)],
        "global_rank": [dist.get_global_rank(g, i) for i in range(3)],
        "rank": dist.get_rank(g), "size": dist.get_world_size(g),
    }
    size = n if n % 3 else 3
    mine, all_groups = dist.new_subgroups(size)
    seen["new_subgroups"] = {"size": size, "mine": dist.get_process_group_ranks(mine),
                             "all": [list(map(int, dist.get_process_group_ranks(h))) if h != dist.GroupMember.NON_GROUP_MEMBER else None
                                     for h in all_groups]}
    seen["new_subgroups_refused"] = raised(lambda: dist.new_subgroups(n - 1)) != ""
    lists = [[r for r in range(n) if r % 2 == 1], [r for r in range(n) if r % 2 == 0]]
    mine, _ = dist.new_subgroups_by_enumeration(lists)
    seen["by_enumeration"] = {"lists": lists, "mine": dist.get_process_group_ranks(mine), "rank": dist.get_rank(mine)}

    # Collectives with uneven splits.
    send = [(rank + i) % 3 for i in range(n)]
    receive = [(i + rank) % 3 for i in range(n)]
    x = torch.arange(sum(send), dtype=torch.int64) + 100 * rank
    y = torch.empty(sum(receive), dtype=torch.int64)
    dist.all_to_all_single(y, x, receive, send)
    seen["all_to_all_single"] = {"send": send, "receive": receive, "in": flat(x), "out": flat(y)}
    x = torch.arange(2 * n, dtype=torch.int64) + 100 * rank
    y = torch.empty_like(x)
    dist.all_to_all_single(y, x)
    seen["all_to_all_even"] = {"in": flat(x), "out": flat(y)}

    # Messages: from any source, and what recv returns.
    if rank == 0:
        got = torch.zeros(1, dtype=torch.int64)
        seen["any_source"] = []
        for _ in range(n - 1):
            src = dist.recv(got)
            seen["any_source"].append([src, int(got)])
        seen["any_source"].sort()
    else:
        dist.send(torch.tensor([10 * rank]), 0)
    seen["send_to_self"] = raised(lambda: dist.send(torch.zeros(1), rank))
    dist.barrier()

    # Objects.
    objects = [{"rank": rank, "list": list(range(rank))}] if rank == 1 else [None]
    dist.broadcast_object_list(objects, src=1)
    seen["broadcast_object_list"] = objects
    everyone = [None] * n
    dist.all_gather_object(everyone, ["r", rank])
    seen["all_gather_object"] = everyone
    gathered = [None] * n if rank == n - 1 else None
    dist.gather_object(rank * rank, gathered, dst=n - 1)
    seen["gather_object"] = gathered
    scattered = [None]
    dist.scatter_object_list(scattered, [f"to {r}" for r in range(n)] if rank == 0 else None, src=0)
    seen["scatter_object_list"] = scattered[0]

    # Coalesced: as one call and as several.
    xs = [torch.arange(k, dtype=torch.int64) + rank for k in (3, 1, 5)]
    dist.all_reduce_coalesced(xs)
    seen["all_reduce_coalesced"] = [flat(t) for t in xs]

    # A monitored barrier that the last rank does not come to.
    g = dist.new_group(list(range(n)), backend="gloo")
    error = ""
    if rank != n - 1:
        error = raised(lambda: dist.monitored_barrier(g, timeout=datetime.timedelta(seconds=2), wait_all_ranks=True))
    seen["monitored_barrier"] = {"names_last": f"{n - 1}" in error, "error": error if rank == 0 else ""}

    with open(os.path.join(folder, str(rank)), "w") as f:
        json.dump(seen, f)
    os._exit(0)  # the barrier above has broken the connections


def worlds():
    out = []
    for n in (3, 5, 7):
        with tempfile.TemporaryDirectory() as folder:
            try:
                mp.spawn(worker, args=(n, folder), nprocs=n)
            except Exception as e:
                print(f"world of {n}: {e}", file=sys.stderr)
                raise
            ranks = []
            for r in range(n):
                with open(os.path.join(folder, str(r))) as f:
                    ranks.append(json.load(f))
            out.append({"ranks": ranks})
    return out


def layers():
    """Returns gradients of a linear layer and an embedding, on whole numbers."""
    torch.manual_seed(1)
    out = {"linear": [], "embedding": []}
    for rows, k, m in ((5, 8, 16), (3, 16, 8), (7, 24, 8)):
        x, w, b, g = (torch.randint(-3, 4, s).double() for s in ((rows, k), (k, m), (m,), (rows, m)))
        x.requires_grad, w.requires_grad, b.requires_grad = True, True, True
        y = x @ w + b
        y.backward(g)
        out["linear"].append({"rows": rows, "in": k, "out": m, "x": flat(x), "w": flat(w), "b": flat(b), "dy": flat(g),
                              "y": flat(y), "dx": flat(x.grad), "dw": flat(w.grad), "db": flat(b.grad)})
    for vocab, dim, count in ((16, 4, 9), (24, 3, 17)):
        table = torch.nn.Embedding(vocab, dim, dtype=torch.float64)
        ids = torch.randint(0, vocab, (count,))
        g = torch.randint(-3, 4, (count, dim)).double()
        table(ids).backward(g)
        out["embedding"].append({"vocab": vocab, "dim": dim, "ids": flat(ids), "dy": flat(g), "dtable": flat(table.weight.grad)})
    return out


if __name__ == "__main__":
    record = {"torch": torch.__version__, "numpy": np.__version__, "views": views(), "files": files(), "worlds": worlds(), "layers": layers()}
    json.dump(record, sys.stdout, separators=(",", ":"))
    print()
