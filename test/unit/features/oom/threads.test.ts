import assert from 'node:assert/strict';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { say } from '../../../../src/core/sentence';
import { explainOom } from '../../../../src/features/oom/core/answer';
import { evidenceOfText, makeOomLogReader } from '../../../../src/features/oom/core/read-log';
import { verdictSentences } from '../../../../src/features/oom/core/report';
import type { Cause } from '../../../../src/features/oom/core/verdict';

/*
 * Out-of-memory errors of public threads: the text around the figures is PyTorch's or ours, and stacks are cut to the frames that matter.
 * The figures are the threads', except for some of Bagel#157, DeepSpeed#4153, Neuron_SP and the all-gather. The verdict is what the thread
 * found, or what its fix was; trl#3436 is open, of torchtune#2071 the end was not read, and Slurm's and the all-gather's have no thread.
 */

/** PyTorch's message since 2.1, by its figures. */
function asked(request: string, [capacity, free, allocated, unallocated]: readonly [string, string, string, string], process = ''): string {
  return `torch.OutOfMemoryError: CUDA out of memory. Tried to allocate ${request}. GPU 0 has a total capacity of ${capacity} of which ${free} is free. ${process}Of the allocated memory ${allocated} is allocated by PyTorch, and ${unallocated} is reserved by PyTorch but unallocated.`;
}

/** PyTorch's message until 2.0. */
function askedBefore(request: string, [capacity, allocated, free, reserved]: readonly [string, string, string, string]): string {
  return `CUDA out of memory. Tried to allocate ${request} (GPU 1; ${capacity} total capacity; ${allocated} already allocated; ${free} free; ${reserved} reserved in total by PyTorch)`;
}

function stack(...frames: readonly string[]): string {
  return ['Traceback (most recent call last):', ...frames.map((frame) => (frame.startsWith(' ') ? frame : `  File "${frame}`))].join('\n');
}

/** Of what is still used. */
function heapBytes(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
}

const threads: readonly (readonly [thread: string, cause: Cause, log: string])[] = [
  [
    'FastChat#256: the state dict of FSDP is cloned on the GPU at the last save',
    'checkpoint',
    `UserWarning: Failed to clone() a tensor of layer 39. Its state_dict entry may point to invalid memory. Error: ${askedBefore('270.00 MiB', ['79.35 GiB', '76.93 GiB', '72.19 MiB', '77.38 GiB'])}`,
  ],
  [
    'stanford_alpaca#65: the same, with 1.7 GiB reserved for nothing; offloading the state dict to the host fixed it',
    'checkpoint',
    `UserWarning: Failed to clone() lm_head.weight of a state_dict() call. Error: ${askedBefore('502.00 MiB', ['39.59 GiB', '35.54 GiB', '276.19 MiB', '37.22 GiB'])}`,
  ],
  [
    'Bagel#157: the whole EMA model is gathered to be saved',
    'checkpoint',
    `${stack('train.py", line 729, in main', 'fsdp_utils.py", line 109, in fsdp_save_ckpt', '_state_dict_utils.py", line 303, in _full_pre_state_dict_hook')}\n${asked('2.00 GiB', ['79.11 GiB', '1.10 GiB', '75.40 GiB', '1.90 GiB'])}`,
  ],
  [
    'DNABERT_2#78: predictions of the evaluation stay on the GPU',
    'evaluation',
    `${stack('trainer.py", line 3045, in evaluate', 'trainer.py", line 4327, in evaluation_loop', 'pt_utils.py", line 100, in nested_concat')}\n${asked('4.44 GiB', ['10.58 GiB', '4.44 GiB', '5.77 GiB', '178.42 MiB'], 'Including non-PyTorch memory, this process has 6.14 GiB memory in use. ')}`,
  ],
  [
    'czsl#7: scores of all test pairs at once; evaluated on the CPU instead',
    'evaluation',
    `${stack('train.py", line 193, in test', 'common.py", line 489, in evaluate_predictions', '    stats = evaluator.evaluate_predictions(results)')}\nRuntimeError: ${askedBefore('4.18 GiB', ['10.92 GiB', '4.68 GiB', '2.44 GiB', '7.85 GiB'])}`,
  ],
  [
    'sentence-transformers#3194: every rank loads onto GPU 0',
    'outside-pytorch',
    `torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 260.00 MiB. GPU 0 has a total capacity of 79.10 GiB of which 57.06 MiB is free. ${['9.94', '9.94', '9.94', '9.68', '9.94', '9.94', '9.68', '9.94'].map((size, rank) => `Process 155220${rank} has ${size} GiB memory in use. `).join('')}`,
  ],
  [
    'ms-swift#4350: weights of a model larger than the GPU are put on it',
    'loading',
    `${stack('modeling_utils.py", line 4614, in from_pretrained', 'modeling_utils.py", line 804, in _load_state_dict_into_meta_model')}\n${asked('12.00 MiB', ['139.83 GiB', '7.69 MiB', '139.31 GiB', '20.00 MiB'], 'Process 1107841 has 139.81 GiB memory in use. ')}`,
  ],
  [
    'DeepSpeed#4153: Trainer moves the whole model to the GPU before it is sharded',
    'loading',
    `${stack('trainer.py", line 499, in __init__', 'trainer.py", line 741, in _move_model_to_device')}\n${asked('172.00 MiB', ['22.19 GiB', '140.00 MiB', '21.79 GiB', '1.00 MiB'])}`,
  ],
  [
    'accelerate#3232: NCCL has no memory for itself while FSDP saves',
    'outside-pytorch',
    "node1:811:1203 [2] transport/nvls.cc:254 NCCL WARN Cuda failure 2 'out of memory'",
  ],
  [
    'slime#1086: PyTorch has reserved what NCCL needs; its cache had to be emptied',
    'outside-pytorch',
    'torch.distributed.DistBackendError: NCCL error: unhandled cuda error. Last error: Failed to CUDA calloc 6291456 bytes',
  ],
  [
    'nccl#1284: over 1 EB is asked for after a timeout of NCCL',
    'bad-size',
    `${stack('fully_sharded_data_parallel.py", line 1, in optim_state_dict')}\ntorch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate more than 1EB memory.`,
  ],
  [
    'Megatron-LM#92: logits of a large vocabulary in fp32',
    'spike',
    `${stack('gpt_model.py", line 60, in post_language_model_processing', '    loss = mpu.vocab_parallel_cross_entropy(output.float(), labels)')}\nRuntimeError: ${askedBefore('9.33 GiB', ['10.76 GiB', '5.17 GiB', '4.48 GiB', '5.28 GiB'])}`,
  ],
  [
    'Neuron_SP#3: Adam makes its states on the GPU at the first step',
    'optimizer-step',
    `${stack('engine.py", line 3, in step', 'adam.py", line 174, in _init_group', '    state["exp_avg"] = torch.zeros_like(p.data)')}\n${asked('6.20 GiB', ['47.40 GiB', '1.96 GiB', '44.50 GiB', '300.00 MiB'])}`,
  ],
  [
    'FSDP gathers the next units while those before are held (lit-llama#389 limits the gathers)',
    'all-gather',
    `${stack('_runtime_utils.py", line 301, in _unshard', '_flat_param.py", line 1381, in _alloc_padded_unsharded_flat_param')}\n${asked('1.00 GiB', ['39.39 GiB', '95.75 MiB', '38.60 GiB', '120.00 MiB'])}`,
  ],
  [
    'trl#3436: the same gather finds its memory in pieces',
    'fragmentation',
    `${stack('_runtime_utils.py", line 301, in _unshard')}\n${asked('388.00 MiB', ['9.68 GiB', '95.75 MiB', '6.61 GiB', '2.57 GiB'], 'Including non-PyTorch memory, this process has 9.54 GiB memory in use. ')}`,
  ],
  [
    'torchtune#2071: the tensors fill the GPU',
    'capacity',
    `${stack('lora_finetune_distributed.py", line 807, in train', 'attention.py", line 12, in forward')}\n${asked('1.96 GiB', ['23.43 GiB', '210.06 MiB', '22.41 GiB', '206.09 MiB'], 'Including non-PyTorch memory, this process has 0 bytes memory in use. ')}`,
  ],
  [
    'mmrotate#501: the host is too small for the data loaders of all ranks',
    'host',
    'RuntimeError: DataLoader worker (pid 16560) is killed by signal: Killed. ',
  ],
  [
    'pytorch#104143: ranks copy their shards to the host to save them',
    'host',
    'iteration 500/ 1000 | loss 2.1\nsaving checkpoint at iteration 500 to ckpt\n  exitcode  : -9 (pid: 7041)\n  traceback : Signal 9 (SIGKILL) received by PID 7041',
  ],
  [
    'marked by Slurm: the cgroup of the step is full',
    'host',
    'slurmstepd: error: Detected 1 oom_kill event in StepId=11.0. Some of the step tasks have been OOM Killed.',
  ],
];

describe('what public threads found', () => {
  for (const [thread, cause, log] of threads)
    it(`${cause}, of ${thread}`, () => {
      const { verdict, fix } = explainOom(evidenceOfText(log), null);
      assert.equal(verdict.cause, cause);
      assert.ok(fix !== null);
    });

  it('names the second cause where two hold', () => {
    const [, , log = ''] = threads.find(([thread]) => thread.startsWith('trl#3436')) ?? [];
    assert.deepEqual(explainOom(evidenceOfText(log), null).verdict.also, ['all-gather']);
  });

  it('counts processes that the message lists, but not its own', () => {
    const [, , log = ''] = threads.find(([thread]) => thread.startsWith('sentence-transformers')) ?? [];
    const { othersBytes } = explainOom(evidenceOfText(log), null).verdict.account;
    assert.equal(Math.round(((othersBytes ?? 0) / 2 ** 30) * 100), 5 * 994 + 2 * 968);
  });

  it('reports a kill while a checkpoint was saved, unless the run went on', () => {
    const [, , log = ''] = threads.find(([thread]) => thread.startsWith('pytorch#104143')) ?? [];
    assert.equal(evidenceOfText(log).host?.isSaving, true);
    assert.equal(explainOom(evidenceOfText(`${log}\niteration 501/ 1000 | loss 2.1\n`), null).verdict.cause, 'none');
  });

  it('reads what the allocator of the CPU was asked for', () => {
    const { host } = evidenceOfText(
      "RuntimeError: [enforce fail at alloc_cpu.cpp:83] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 536870912 bytes. Error code 12",
    );
    assert.deepEqual(host, { isSaving: false, requestBytes: 536_870_912 });
  });

  it('blames the GPU, not the ranks that are killed after it', () => {
    const [, , log = ''] = threads.find(([thread]) => thread.startsWith('torchtune')) ?? [];
    assert.equal(explainOom(evidenceOfText(`${log}\n  exitcode  : -9 (pid: 7041)`), null).verdict.cause, 'capacity');
  });
});

describe('what a stack shows', () => {
  const few: Parameters<typeof asked>[1] = ['79.11 GiB', '0.50 GiB', '76.00 GiB', '100.00 MiB'];
  const judged = (...lines: readonly string[]) => {
    const answer = explainOom(evidenceOfText(lines.join('\n')), null);
    const [because = ''] = verdictSentences(answer).map((one) => say(one));
    return { ...answer.verdict, because };
  };

  it('counts no processes by sizes that no GPU has', () => {
    const others = (...sizes: readonly string[]) =>
      judged(asked('2.00 GiB', few, sizes.map((size, at) => `Process ${at} has ${size} memory in use. `).join(''))).account.othersBytes;
    assert.equal(others('17179869184.00 GiB', '17179869184.00 GiB'), null);
    assert.equal(others('0 bytes', '60.00 GiB', '10.00 GiB'), null);
    assert.equal(others('60.00 GiB', '10.00 GiB'), 10 * 2 ** 30);
  });

  it('calls a gather an all-gather of weights only in FSDP or ZeRO, and only a large one', () => {
    const cause = (request: string, ...frames: readonly string[]) => judged(stack(...frames), asked(request, few)).cause;
    const tensor = ['/opt/torch/distributed/tensor/_redistribute.py", line 200, in redistribute', '    all_gather_into_tensor('];
    assert.equal(cause('2.00 GiB', '/verl/workers/fsdp_workers.py", line 9, in forward', ...tensor), 'capacity');
    const fsdp = ['/opt/torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py", line 270, in unshard', '    foreach_all_gather('];
    assert.equal(cause('2.00 GiB', ...fsdp), 'all-gather');
    assert.equal(cause('20.00 MiB', ...fsdp), 'capacity');
    assert.equal(cause('2.00 GiB', '/opt/deepspeed/runtime/zero/partition_parameters.py", line 1, in all_gather_coalesced'), 'all-gather');
  });

  it('reports that no step was before only where none was logged', () => {
    const load = [
      stack('trainer.py", line 2800, in _load_best_model', '    model.load_state_dict(state_dict, False)'),
      asked('2.00 GiB', few),
    ];
    assert.match(judged(...load).because, /^Loading: .* before any step/);
    for (const step of [' iteration      500/    1000 | elapsed', "{'loss': 0.51, 'epoch': 0.5}"])
      assert.match(judged(step, ...load).because, /^Loading: (?!.*before)/);
  });

  it('calls a state dict a save only where something saves', () => {
    const made = stack('fsdp_vllm.py", line 90, in __enter__', '    params = self.module.state_dict()');
    assert.match(judged(made, asked('2.00 GiB', few)).because, /^State dict: /);
    const saving = stack('train.py", line 4, in save_checkpoint', '    torch.save(model.state_dict())');
    assert.match(judged(saving, asked('2.00 GiB', few)).because, /^Checkpoint: /);
  });

  it('reads no names of folders and files', () => {
    for (const name of ['save_checkpoint_tests/train', 'state_dict', 'load_checkpoint', 'evaluation_loop'])
      assert.equal(judged(stack(`/work/${name}.py", line 1, in main`, '    loss.backward()'), asked('2.00 GiB', few)).cause, 'capacity');
  });

  it('forgets a traceback that the run went on after, but not one with lines of its own between', () => {
    const error = asked('2.00 GiB', few);
    const failed = stack('modeling_utils.py", line 10, in from_pretrained', '    raise OSError');
    assert.equal(judged(failed, "OSError: can't load, retrying", 'Loaded.', error).cause, 'capacity');
    const marked = stack('a.py", line 1, in from_pretrained', '    load(', '    ~~~~^', 'b.py", line 2, in load', '    x');
    assert.equal(judged(marked, '  [Previous line repeated 3 more times]', error).cause, 'loading');
    const ranked = marked.replaceAll(/^/gm, '[rank3]: ');
    assert.equal(judged(ranked, `[rank3]: ${error}`).cause, 'loading');
  });

  it('keeps the text of an error, not the piece of the log that it is in', () => {
    const padding = `${'x'.repeat(200)}\n`.repeat(1000);
    const reader = makeOomLogReader();
    const before = heapBytes();
    for (let at = 0; at < 100; at++) {
      const frame = `[rank${at}]:   File "train_with_a_long_name.py", line ${at}, in main`;
      reader.push(`${padding}${frame}\n${at}: the process of this rank: torch.OutOfMemoryError: CUDA error: out of memory\n`);
    }
    // the pieces take 20 MB
    assert.ok(heapBytes() - before < 5e6);
    assert.equal(reader.end().errors.length, 100);
  });
});

describe('what the host killed', () => {
  const nine = '  exitcode  : -9 (pid: 101)\n  traceback : Signal 9 (SIGKILL) received by PID 101';

  it('is nothing where a process that failed first had the others ended', () => {
    const logs = [
      `W1127 Sending process 101 closing signal SIGTERM\n${nine}`,
      `W1127 Unable to shutdown process 101 via Signals.SIGTERM, forcefully exiting via Signals.SIGKILL\n${nine}`,
      `[rank1]: ValueError: shapes (3,4) and (5,6) do not match\n${nine}`,
      `E1127 failed (exitcode: 1) local_rank: 1 (pid: 102) of binary: python\n${nine}`,
      '{ "State": { "OOMKilled": false, "ExitCode": 1 } }',
    ];
    for (const log of logs) assert.equal(evidenceOfText(log).host, null, log);
  });

  it('is the process that the agent names first, whatever its peers report', () => {
    const logs = [
      nine,
      `[rank1]: torch.distributed.DistBackendError: NCCL error: remote process exited\n${nine}`,
      `W1127 Sending process 102 closing signal SIGTERM\nE1127 failed (exitcode: -9) local_rank: 0 (pid: 101) of binary: python`,
      '[rank1]: ValueError: no\nReason: OOMKilled',
    ];
    for (const log of logs) assert.deepEqual(evidenceOfText(log).host, { isSaving: false, requestBytes: null }, log);
  });

  it('is not in a save that is over', () => {
    const after = (line: string) => evidenceOfText(`saving checkpoint at iteration 500 to ckpt\n${line}\n${nine}`).host?.isSaving;
    const lines = [
      '  successfully saved checkpoint from iteration     500 to /ckpt [ t 1/8, p 1/4 ]',
      "{'loss': 0.51, 'epoch': 0.5}",
      ' 60%|██████    | 600/1000 [10:00<06:00,  1.00it/s]',
    ];
    assert.deepEqual(lines.map(after), [false, false, false]);
    assert.equal(after('WARNING: slow file system'), true);
  });
});
