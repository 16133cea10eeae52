"""Rates that PyTorch reaches on one GPU: GEMMs, attention, slices of a layer, memory-bound kernels, and steps of the Hugging Face Trainer.

`python3 torch_rates.py OUT.json SECTION...`, where a section is a key of SECTIONS; `trainerLimit=SECONDS` before `trainer` ends it early. Times
are in ms: the median of CUDA events over repetitions after warm-ups, on random data. test/golden/data/h200.json is what it wrote.
"""

import gc, json, subprocess, sys, time, traceback
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

out, sections = sys.argv[1], sys.argv[2:]
result = {}
began = time.time()
dev = 'cuda'


def save():
    with open(out, 'w') as f:
        json.dump(result, f)


def smi(query):
    line = subprocess.run(['nvidia-smi', f'--query-gpu={query}', '--format=csv,noheader,nounits'], capture_output=True, text=True).stdout
    return line.strip()


def ms(run, budget=60.0, most=50):
    for _ in range(3):
        run()
    torch.cuda.synchronize()
    first = torch.cuda.Event(True)
    last = torch.cuda.Event(True)
    first.record()
    run()
    last.record()
    torch.cuda.synchronize()
    n = max(5, min(most, int(budget / max(first.elapsed_time(last), 1e-3))))
    events = [(torch.cuda.Event(True), torch.cuda.Event(True)) for _ in range(n)]
    for a, b in events:
        a.record()
        run()
        b.record()
    torch.cuda.synchronize()
    times = sorted(a.elapsed_time(b) for a, b in events)
    return times[len(times) // 2]


def attempt(name, run):
    try:
        return run()
    except Exception as error:
        return {'error': f'{name}: {type(error).__name__}: {str(error)[:300]}'}
    finally:
        gc.collect()
        torch.cuda.empty_cache()


def machine():
    p = torch.cuda.get_device_properties(0)
    before = smi('memory.used')
    a = torch.randn(64, 64, device=dev, dtype=torch.bfloat16)
    torch.cuda.synchronize()
    context = smi('memory.used')
    b = a @ a
    torch.cuda.synchronize()
    return {
        'name': p.name,
        'sms': p.multi_processor_count,
        'totalMemory': p.total_memory,
        'l2': p.L2_cache_size,
        'torch': torch.__version__,
        'cuda': torch.version.cuda,
        'cudnn': torch.backends.cudnn.version(),
        'nccl': '.'.join(map(str, torch.cuda.nccl.version())),
        'smi': smi('name,driver_version,memory.total,power.limit,clocks.max.sm,clocks.max.mem'),
        'usedMiB': {'beforeContext': before, 'context': context, 'afterFirstGemm': smi('memory.used')},
        'allocatedAfterFirstGemm': torch.cuda.memory_allocated(),
        'reservedAfterFirstGemm': torch.cuda.memory_reserved(),
    }


def bandwidth():
    n = 2**30
    a = torch.empty(n, dtype=torch.bfloat16, device=dev).normal_()
    b = torch.empty_like(a)
    t = ms(lambda: b.copy_(a))
    add = ms(lambda: torch.add(a, b, out=b))
    return {'copyMs': t, 'copyBytes': 4 * n, 'copyTBs': 4 * n / t / 1e9, 'addMs': add, 'addTBs': 6 * n / add / 1e9}


SHAPES = {
    'attention.output 4096x4096': (4096, 4096),
    'qkv 6144x4096': (6144, 4096),
    'gateUp 28672x4096': (28672, 4096),
    'down 4096x14336': (4096, 14336),
    '8192x8192': (8192, 8192),
    'head 128256x4096': (128256, 4096),
    'gpt2 768x768': (768, 768),
    'gpt2 3072x768': (3072, 768),
    '2048x2048': (2048, 2048),
}


def gemms(dtype):
    rows = []
    for name, (n, k) in SHAPES.items():
        w = torch.randn(n, k, device=dev).to(dtype) * 0.02
        for m in (128, 256, 512, 1024, 2048, 4096, 8192, 16384):
            if name.startswith('head') and m > 4096:
                continue
            x = torch.randn(m, k, device=dev).to(dtype)
            dy = torch.randn(m, n, device=dev).to(dtype)
            flop = 2 * m * n * k
            row = {'shape': name, 'm': m, 'n': n, 'k': k}
            for kind, run in (('forward', lambda: x @ w.t()), ('dgrad', lambda: dy @ w), ('wgrad', lambda: dy.t() @ x)):
                t = ms(run, 25, 30)
                row[kind] = t
                row[kind + 'Tflops'] = flop / t / 1e9
            rows.append(row)
            del x, dy
    return rows


def fp8():
    rows = []
    one = torch.tensor(1.0, device=dev)
    for name, (n, k) in SHAPES.items():
        if k < 2048:
            continue
        w = (torch.randn(n, k, device=dev) * 0.5).to(torch.float8_e4m3fn)
        for m in (512, 1024, 2048, 4096, 8192, 16384):
            if name.startswith('head') and m > 4096:
                continue
            xh = torch.randn(m, k, device=dev, dtype=torch.bfloat16)
            x = xh.to(torch.float8_e4m3fn)
            t = ms(lambda: torch._scaled_mm(x, w.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=True), 25, 30)
            q = ms(lambda: (xh / xh.abs().max()).to(torch.float8_e4m3fn), 10, 20)
            rows.append(
                {'shape': name, 'm': m, 'n': n, 'k': k, 'forward': t, 'forwardTflops': 2 * m * n * k / t / 1e9, 'quantizeUnfused': q}
            )
    return rows


def nccl():
    import torch.distributed as dist, os

    os.environ |= dict(MASTER_ADDR='127.0.0.1', MASTER_PORT='29501', RANK='0', WORLD_SIZE='1')
    before = smi('memory.used')
    dist.init_process_group('nccl', device_id=torch.device('cuda', 0))
    x = torch.randn(2**28, device=dev, dtype=torch.bfloat16)
    middle = smi('memory.used')
    dist.all_reduce(x)
    torch.cuda.synchronize()
    after = smi('memory.used')
    t = ms(lambda: dist.all_reduce(x), 20, 20)
    dist.destroy_process_group()
    return {'usedMiB': [before, middle, after], 'allReduceMs': t}


def sustained():
    a = torch.randn(8192, 8192, device=dev, dtype=torch.bfloat16)
    b = torch.randn(8192, 8192, device=dev, dtype=torch.bfloat16)
    rows = []
    start = time.time()
    while time.time() - start < 6:
        t0 = torch.cuda.Event(True)
        t1 = torch.cuda.Event(True)
        t0.record()
        for _ in range(200):
            a @ b
        t1.record()
        torch.cuda.synchronize()
        rows.append(
            {
                'atS': time.time() - start,
                'tflops': 200 * 2 * 8192**3 / t0.elapsed_time(t1) / 1e9,
                'smi': smi('clocks.sm,power.draw,temperature.gpu'),
            }
        )
    return rows


def attention():
    rows = []
    for heads, kv, d in ((32, 8, 128), (16, 16, 64)):
        for length, context in (
            (512, 0),
            (1024, 0),
            (2048, 0),
            (4096, 0),
            (8192, 0),
            (16384, 0),
            (32768, 0),
            (512, 3584),
            (512, 15872),
            (2048, 2048),
            (2048, 6144),
            (2048, 14336),
            (4096, 12288),
        ):
            total = length + context
            g = lambda h, n: torch.randn(1, h, n, d, device=dev, dtype=torch.bfloat16, requires_grad=True)
            q, k, v = g(heads, length), g(kv, total), g(kv, total)
            kx, vx = (
                (k, v)
                if kv == heads
                else (
                    k.repeat_interleave(heads // kv, 1).detach().requires_grad_(),
                    v.repeat_interleave(heads // kv, 1).detach().requires_grad_(),
                )
            )
            flop = 4 * heads * d * length * (context + length / 2)
            for backend in ('FLASH_ATTENTION', 'CUDNN_ATTENTION', 'EFFICIENT_ATTENTION'):
                row = {'heads': heads, 'kvHeads': kv, 'headDim': d, 'tokens': length, 'context': context, 'backend': backend}
                try:
                    with sdpa_kernel(getattr(SDPBackend, backend)):
                        if context == 0:
                            run = lambda: F.scaled_dot_product_attention(q, kx, vx, is_causal=True)
                        else:
                            from torch.nn.attention.bias import causal_lower_right

                            bias = causal_lower_right(length, total)
                            run = lambda: F.scaled_dot_product_attention(q, kx, vx, attn_mask=bias)
                        t = ms(run, 20, 20)
                        o = run()
                        do = torch.randn_like(o)
                        tb = ms(lambda: torch.autograd.grad(o, (q, kx, vx), do, retain_graph=True), 30, 20)
                        row |= {'forward': t, 'backward': tb, 'forwardTflops': flop / t / 1e9, 'backwardTflops': 2.5 * flop / tb / 1e9}
                        del o, do
                except Exception as error:
                    row['error'] = str(error)[:160]
                rows.append(row)
            del q, k, v, kx, vx
            torch.cuda.empty_cache()
    return rows


class Layer(nn.Module):
    """A pre-norm layer of Llama or GPT-2 over a slice with past keys and values."""

    def __init__(s, h, heads, kv, ffn, gated):
        super().__init__()
        s.h, s.heads, s.kv, s.gated, s.d = h, heads, kv, gated, h // heads
        bias = not gated
        s.n1 = nn.RMSNorm(h) if gated else nn.LayerNorm(h)
        s.n2 = nn.RMSNorm(h) if gated else nn.LayerNorm(h)
        s.qkv = nn.Linear(h, (heads + 2 * kv) * s.d, bias=bias)
        s.o = nn.Linear(heads * s.d, h, bias=bias)
        s.up = nn.Linear(h, (2 if gated else 1) * ffn, bias=bias)
        s.down = nn.Linear(ffn, h, bias=bias)

    def forward(s, x, pk, pv, cos, sin):
        b, l, _ = x.shape
        q, k, v = s.qkv(s.n1(x)).split([s.heads * s.d, s.kv * s.d, s.kv * s.d], -1)
        q, k, v = (t.view(b, l, -1, s.d).transpose(1, 2) for t in (q, k, v))
        if s.gated:
            rot = lambda t: t * cos + torch.cat((-t[..., s.d // 2 :], t[..., : s.d // 2]), -1) * sin
            q, k = rot(q), rot(k)
        if pk is not None:
            k, v = torch.cat([pk, k], 2), torch.cat([pv, v], 2)
        kk, vv = k, v
        if pk is None:
            a = F.scaled_dot_product_attention(q, kk, vv, is_causal=True, enable_gqa=s.heads != s.kv)
        else:
            from torch.nn.attention.bias import causal_lower_right

            if s.heads != s.kv:
                kk, vv = kk.repeat_interleave(s.heads // s.kv, 1), vv.repeat_interleave(s.heads // s.kv, 1)
            a = F.scaled_dot_product_attention(q, kk, vv, attn_mask=causal_lower_right(l, k.shape[2]))
        x = x + s.o(a.transpose(1, 2).reshape(b, l, -1))
        y = s.up(s.n2(x))
        y = F.silu(y[..., : y.shape[-1] // 2]) * y[..., y.shape[-1] // 2 :] if s.gated else F.gelu(y, approximate='tanh')
        return x + s.down(y), k, v


def slices(compiled=False):
    rows = []
    models = {'llama3-8b': (4096, 32, 8, 14336, True), 'gpt2': (768, 12, 12, 3072, False), 'gpt2-xl': (1600, 25, 25, 6400, False)}
    for name, (h, heads, kv, ffn, gated) in models.items():
        if compiled and name != 'llama3-8b':
            continue
        layer = Layer(h, heads, kv, ffn, gated).to(dev, torch.bfloat16)
        step = torch.compile(layer) if compiled else layer
        d = h // heads
        for tokens in (512, 2048) if compiled else (64, 128, 256, 512, 1024, 2048, 4096):
            for context in (0,) if compiled else (0, 1024, 2048, 4096, 8192, 12288):
                x = torch.randn(1, tokens, h, device=dev, dtype=torch.bfloat16, requires_grad=True)
                past = lambda: torch.randn(1, kv, context, d, device=dev, dtype=torch.bfloat16, requires_grad=True) if context else None
                pk, pv = past(), past()
                cos = torch.randn(tokens, d, device=dev, dtype=torch.bfloat16)
                sin = torch.randn(tokens, d, device=dev, dtype=torch.bfloat16)
                try:
                    fwd = ms(lambda: step(x, pk, pv, cos, sin), 20, 20)
                    for p in layer.parameters():
                        p.grad = torch.zeros_like(p)

                    def whole():
                        y, k, v = step(x, pk, pv, cos, sin)
                        y.backward(dy)

                    dy = torch.randn_like(x)
                    both = ms(whole, 40, 20)
                    rows.append(
                        {'model': name, 'compiled': compiled, 'tokens': tokens, 'context': context, 'forward': fwd, 'forwardBackward': both}
                    )
                except Exception as error:
                    rows.append({'model': name, 'tokens': tokens, 'context': context, 'error': str(error)[:200]})
                x.grad = None
        # The same whole slice as a CUDA graph: what a launch costs.
        if not compiled:
            for tokens in (64, 256, 1024):
                try:
                    x = torch.randn(1, tokens, h, device=dev, dtype=torch.bfloat16)
                    cos = torch.randn(tokens, d, device=dev, dtype=torch.bfloat16)
                    sin = torch.randn(tokens, d, device=dev, dtype=torch.bfloat16)
                    with torch.no_grad():
                        for _ in range(3):
                            layer(x, None, None, cos, sin)
                        torch.cuda.synchronize()
                        graph = torch.cuda.CUDAGraph()
                        with torch.cuda.graph(graph):
                            layer(x, None, None, cos, sin)
                        rows.append(
                            {
                                'model': name,
                                'graph': True,
                                'tokens': tokens,
                                'context': 0,
                                'forward': ms(graph.replay, 20, 30),
                                'forwardEager': ms(lambda: layer(x, None, None, cos, sin), 20, 30),
                            }
                        )
                except Exception as error:
                    rows.append({'model': name, 'graph': True, 'tokens': tokens, 'error': str(error)[:200]})
    return rows


def elementwise():
    rows = []
    for m, h in ((2048, 4096), (8192, 4096), (8192, 8192)):
        x = torch.randn(m, h, device=dev, dtype=torch.bfloat16, requires_grad=True)
        dy = torch.randn_like(x)
        for name, f in (
            ('LayerNorm', nn.LayerNorm(h).to(dev, torch.bfloat16)),
            ('RMSNorm', nn.RMSNorm(h).to(dev, torch.bfloat16)),
            ('gelu', lambda t: F.gelu(t, approximate='tanh')),
            ('silu', F.silu),
            ('dropout', lambda t: F.dropout(t, 0.1)),
            ('add', lambda t: t + dy),
        ):
            y = f(x)
            rows.append(
                {
                    'kernel': name,
                    'rows': m,
                    'width': h,
                    'forward': ms(lambda: f(x), 15, 30),
                    'backward': ms(lambda: torch.autograd.grad(y, x, dy, retain_graph=True), 15, 30),
                }
            )
    for m, v in ((2048, 128256), (8192, 50304), (4096, 32000)):
        x = torch.randn(m, v, device=dev, dtype=torch.bfloat16, requires_grad=True)
        t = torch.randint(0, v, (m,), device=dev)
        for name, f in (('crossEntropy', lambda: F.cross_entropy(x, t)), ('crossEntropyFp32', lambda: F.cross_entropy(x.float(), t))):
            y = f()
            rows.append(
                {
                    'kernel': name,
                    'rows': m,
                    'width': v,
                    'forward': ms(f, 15, 20),
                    'backward': ms(lambda: torch.autograd.grad(y, x, retain_graph=True), 15, 20),
                }
            )
        del x
    p = [nn.Parameter(torch.randn(4096, 4096, device=dev)) for _ in range(32)]
    for q in p:
        q.grad = torch.randn_like(q)
    for kind in ('fused', 'foreach'):
        o = torch.optim.AdamW(p, lr=1e-4, **{kind: True})
        t = ms(o.step, 60, 20)
        rows.append({'kernel': f'AdamW {kind} fp32', 'parameters': 32 * 4096**2, 'ms': t, 'psPerParameter': t * 1e9 / (32 * 4096**2)})
        del o
    rows.append({'kernel': 'clip_grad_norm_', 'parameters': 32 * 4096**2, 'ms': ms(lambda: nn.utils.clip_grad_norm_(p, 1.0), 40, 20)})
    return rows


LLAMA_1B = dict(
    hidden_size=2048,
    num_hidden_layers=16,
    num_attention_heads=32,
    num_key_value_heads=8,
    intermediate_size=8192,
    vocab_size=128256,
    tie_word_embeddings=True,
    rope_theta=500000.0,
    max_position_embeddings=131072,
)
LLAMA_3B = LLAMA_1B | dict(hidden_size=3072, num_hidden_layers=28, num_attention_heads=24)
LLAMA_8B = LLAMA_1B | dict(hidden_size=4096, num_hidden_layers=32, intermediate_size=14336, tie_word_embeddings=False)
QWEN3 = dict(
    hidden_size=2048,
    num_hidden_layers=28,
    num_attention_heads=16,
    num_key_value_heads=8,
    head_dim=128,
    intermediate_size=6144,
    vocab_size=151936,
    tie_word_embeddings=True,
    rope_theta=1000000.0,
    max_position_embeddings=40960,
)
QWEN3_MOE = QWEN3 | dict(
    num_hidden_layers=8,
    num_attention_heads=32,
    num_key_value_heads=4,
    moe_intermediate_size=768,
    num_experts=64,
    num_experts_per_tok=8,
    tie_word_embeddings=False,
)
GPT2_LARGE = dict(n_embd=1280, n_layer=36, n_head=20, n_positions=1024, vocab_size=50257)
CHECKPOINT = dict(gradient_checkpointing=True)
BF16 = CHECKPOINT | dict(weights='bf16')

# name, kind, config, runs of (sequence, micro-batch, options)
TRAINER = [
    (
        'llama-1b',
        'llama',
        LLAMA_1B,
        [
            (2048, 1, {}),
            (2048, 4, {}),
            (2048, 8, {}),
            (2048, 4, CHECKPOINT),
            (2048, 16, CHECKPOINT),
            (8192, 1, CHECKPOINT),
            (16384, 1, CHECKPOINT),
            (2048, 2, dict(gradient_accumulation_steps=4)),
            (2048, 4, dict(torch_compile=True)),
        ],
    ),
    ('qwen3-1.7b', 'qwen3', QWEN3, [(2048, 2, {}), (4096, 2, CHECKPOINT)]),
    ('qwen3-moe', 'qwen3_moe', QWEN3_MOE, [(2048, 2, {}), (4096, 2, CHECKPOINT)]),
    ('gpt2-large', 'gpt2', GPT2_LARGE, [(1024, 4, {}), (1024, 8, CHECKPOINT)]),
    ('llama-3b', 'llama', LLAMA_3B, [(2048, 1, {}), (2048, 4, CHECKPOINT)]),
    (
        'llama-8b',
        'llama',
        LLAMA_8B,
        [(2048, 1, BF16 | dict(optim='adafactor')), (2048, 1, BF16 | dict(lora=16)), (2048, 4, BF16 | dict(lora=16))],
    ),
]


def trainer():
    import transformers
    from transformers import Trainer, TrainingArguments, TrainerCallback

    transformers.logging.set_verbosity_error()
    rows = []
    result['trainer'] = rows
    limit = float(result.get('trainerLimit', 150))
    start = time.time()
    for name, kind, settings, runs in TRAINER:
        cls = {
            'llama': ('LlamaConfig', 'LlamaForCausalLM'),
            'qwen3': ('Qwen3Config', 'Qwen3ForCausalLM'),
            'qwen3_moe': ('Qwen3MoeConfig', 'Qwen3MoeForCausalLM'),
            'gpt2': ('GPT2Config', 'GPT2LMHeadModel'),
        }[kind]
        for length, micro, options in runs:
            row = {
                'model': name,
                'kind': kind,
                'config': settings,
                'sequence': length,
                'microBatch': micro,
                'options': options,
                'transformers': transformers.__version__,
            }
            if time.time() - start > limit:
                row['error'] = 'no time left'
                rows.append(row)
                continue

            def one():
                config = getattr(transformers, cls[0])(**settings)
                config.use_cache = False
                dtype = torch.bfloat16 if options.get('weights') == 'bf16' else torch.float32
                with torch.device(dev):
                    torch.set_default_dtype(dtype)
                    model = getattr(transformers, cls[1])(config)
                    torch.set_default_dtype(torch.float32)
                row['attention'] = model.config._attn_implementation
                row['parameters'] = sum(p.numel() for p in model.parameters())
                if 'lora' in options:
                    from peft import LoraConfig, get_peft_model

                    model = get_peft_model(
                        model,
                        LoraConfig(r=options['lora'], lora_alpha=2 * options['lora'], target_modules='all-linear', task_type='CAUSAL_LM'),
                    )
                    if options.get('gradient_checkpointing'):
                        model.enable_input_require_grads()
                row['modelAllocated'] = torch.cuda.memory_allocated()
                steps = 8

                class Data(torch.utils.data.Dataset):
                    def __len__(s):
                        return steps * micro * options.get('gradient_accumulation_steps', 1)

                    def __getitem__(s, i):
                        t = torch.randint(0, 30000, (length,))
                        return {'input_ids': t, 'labels': t, 'attention_mask': torch.ones_like(t)}

                times, memory = [], []

                class Clock(TrainerCallback):
                    def on_step_begin(s, *a, **k):
                        torch.cuda.synchronize()
                        s.t = time.perf_counter()
                        torch.cuda.reset_peak_memory_stats()

                    def on_step_end(s, *a, **k):
                        torch.cuda.synchronize()
                        times.append(time.perf_counter() - s.t)
                        memory.append((torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()))

                args = TrainingArguments(
                    output_dir='/tmp/trainer',
                    per_device_train_batch_size=micro,
                    gradient_accumulation_steps=options.get('gradient_accumulation_steps', 1),
                    max_steps=steps,
                    bf16=True,
                    gradient_checkpointing=options.get('gradient_checkpointing', False),
                    torch_compile=options.get('torch_compile', False),
                    optim=options.get('optim', 'adamw_torch_fused'),
                    logging_strategy='no',
                    save_strategy='no',
                    report_to='none',
                    disable_tqdm=True,
                    dataloader_num_workers=0,
                )
                Trainer(model=model, args=args, train_dataset=Data(), callbacks=[Clock()]).train()
                row['stepSeconds'] = times
                row['peak'] = memory
                row['usedMiB'] = smi('memory.used')

            answer = attempt(name, one)
            if answer:
                row |= answer
            rows.append(row)
            save()
    return rows


SECTIONS = {
    'machine': machine,
    'bandwidth': bandwidth,
    'gemm-bf16': lambda: gemms(torch.bfloat16),
    'gemm-fp16': lambda: gemms(torch.float16),
    'gemm-fp8': fp8,
    'sustained': sustained,
    'attention': attention,
    'slices': slices,
    'compiled': lambda: slices(True),
    'elementwise': elementwise,
    'nccl': nccl,
    'trainer': trainer,
}

for section in sections:
    name, _, argument = section.partition('=')
    at = time.time()
    if name == 'trainerLimit':
        result[name] = argument
        continue
    result[name] = attempt(name, SECTIONS[name])
    print(name, f'{time.time() - at:.1f} s', flush=True)
    save()
print('total', f'{time.time() - began:.1f} s')
