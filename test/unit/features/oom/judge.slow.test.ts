import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { say } from '../../../../src/core/sentence';
import { causeSentence } from '../../../../src/features/oom/core/fixes';
import { makeOomLogReader } from '../../../../src/features/oom/core/read-log';
import { readSnapshot } from '../../../../src/features/oom/core/snapshot';
import { judge, type Verdict } from '../../../../src/features/oom/core/verdict';
import type { Evidence } from '../../../../src/features/oom/core/evidence';
import { framed, pickled, text } from './pickles';

const fixtures = path.join(import.meta.dirname, '../../../fixtures/oom');
const gib = 2 ** 30;

function readLog(log: string, pieceLength = Infinity): Evidence {
  const reader = makeOomLogReader();
  for (let at = 0; at < log.length; at += pieceLength) reader.push(log.slice(at, at + pieceLength));
  return reader.end();
}

function fixture(name: string): string {
  return readFileSync(path.join(fixtures, name), 'utf8');
}

function judgeLog(log: string): Verdict {
  return judge(readLog(log));
}

function snapshotEvidence(bytes: Uint8Array): Evidence {
  const snapshot = readSnapshot(bytes, 'a.pickle');
  return {
    source: 'snapshot',
    errors: [],
    points: [],
    lastStep: null,
    hasSteps: null,
    isExpandable: snapshot.isExpandable,
    host: null,
    snapshot,
  };
}

const sentences = (figures: string): string => `torch.OutOfMemoryError: CUDA out of memory. ${figures}`;

describe('why a run ran out of memory', () => {
  const cases = [
    ['fragmentation.log', 'fragmentation'], // SkyRL#1768: 20 GiB reserved, out of memory at step 2
    ['capacity-1.13.log', 'capacity'],
    ['graphs.log', 'cuda-graphs'], // TransformerEngine#2543, #3427
    ['optimizer.log', 'optimizer-step'], // ColossalAI#3509
    ['loss.log', 'spike'], // slime#1951
    ['others.log', 'outside-pytorch'],
    ['limit.log', 'limit'],
    ['leak-megatron.log', 'leak'],
    ['leak-smi.csv', 'leak'],
    ['steady-torchtitan.log', 'none'],
    ['steady-deepspeed.log', 'none'],
  ] as const;
  for (const [name, cause] of cases) it(`finds ${cause} in ${name}`, () => assert.equal(judgeLog(fixture(name)).cause, cause));

  it('reads a log the same in pieces of any length', () => {
    for (const [name] of cases)
      for (const length of [1, 7, 100]) assert.deepEqual(readLog(fixture(name), length), readLog(fixture(name)), name);
  });

  it('reads every wording of the figures', () => {
    const wordings = [
      'RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 79.00 GiB total capacity; 70.00 GiB already allocated; 1.00 GiB free; 7.00 GiB cached)',
      'torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 79.00 GiB total capacity; 70.00 GiB already allocated; 1.00 GiB free; 77.00 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory',
      sentences(
        'Tried to allocate 2.00 GiB. GPU 0 has a total capacty of 79.00 GiB of which 1.00 GiB is free. Process 12 has 78.00 GiB memory in use. Of the allocated memory 70.00 GiB is allocated by PyTorch, and 7.00 GiB is reserved by PyTorch but unallocated.',
      ),
      sentences(
        'Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.00 GiB of which 1.00 GiB is free. Including non-PyTorch memory, this process has 17179869184.00 GiB memory in use. Of the allocated memory 70.00 GiB is allocated by PyTorch, and 7.00 GiB is reserved by PyTorch but unallocated.',
      ),
    ];
    for (const wording of wordings) {
      const { account } = judgeLog(wording);
      assert.deepEqual(
        [account.requestBytes, account.capacityBytes, account.freeBytes, account.allocatedBytes, account.unallocatedBytes],
        [2, 79, 1, 70, 7].map((size) => size * gib),
        wording,
      );
    }
  });

  it('reads HIP, and private pools in bytes', () => {
    const { account, cause } = judgeLog(
      'torch.OutOfMemoryError: HIP out of memory. Tried to allocate 76.00 MiB. GPU 0 has a total capacity of 255.69 GiB of which 0 bytes is free. Of the allocated memory 255.00 GiB is allocated by PyTorch, with 512 bytes allocated in private pools (e.g., HIP Graphs), and 18.63 MiB is reserved by PyTorch but unallocated.',
    );
    assert.deepEqual([account.poolBytes, account.freeBytes, cause], [512, 0, 'capacity']);
  });

  it('calls a large tensor a spike only where there was room for a usual one', () => {
    const request = (free: number): Verdict =>
      judgeLog(
        sentences(
          `Tried to allocate 12.00 GiB. GPU 0 has a total capacity of 79.00 GiB of which ${free}.00 GiB is free. Of the allocated memory ${77 - free}.00 GiB is allocated by PyTorch, and 100.00 MiB is reserved by PyTorch but unallocated.`,
        ),
      );
    assert.deepEqual([request(8).cause, request(1).cause], ['spike', 'capacity']);
  });

  it('finds another process by what the error of PyTorch 1.3 leaves over', () => {
    const { cause, account } = judgeLog(
      'RuntimeError: CUDA out of memory. Tried to allocate 352.00 MiB (GPU 0; 7.92 GiB total capacity; 1.67 GiB already allocated; 156.00 MiB free; 124.28 MiB cached)',
    );
    assert.equal(cause, 'outside-pytorch');
    assert.equal(Math.round((account.outsideBytes ?? 0) / gib), 6);
  });

  it('takes the rank that failed first, and counts the others', () => {
    const one = sentences(
      'Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 79.00 GiB of which 0 bytes is free. Of the allocated memory 78.00 GiB is allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated.',
    );
    const verdict = judgeLog(`[rank5]: ${one}\n[rank2]: ${one}\n[rank5]: ${one}\n`);
    assert.deepEqual([verdict.rank, verdict.ranks], [5, 2]);
  });

  it('forgets an error that the run went on after', () => {
    assert.equal(judgeLog(`${fixture('capacity-1.13.log')}\n step: 7  loss: 2.1\n`).cause, 'none');
  });

  it('does not blame the loss for what runs out in its backward', () => {
    const { cause } = judgeLog(
      `Traceback (most recent call last):\n  File "train.py", line 8, in main\n    loss = compute_loss(logits)\n  File "a.py", line 9, in b\n    x\n  File "c.py", line 1, in d\n    loss.backward()\n  File "engine.py", line 3, in run_backward\n    return run()\n${sentences(
        'Tried to allocate 3.00 GiB. GPU 0 has a total capacity of 79.00 GiB of which 1.00 GiB is free. Of the allocated memory 77.00 GiB is allocated by PyTorch, and 100.00 MiB is reserved by PyTorch but unallocated.',
      )}`,
    );
    assert.equal(cause, 'capacity');
  });

  it('does not advise expandable segments where they are on', () => {
    const log = `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True torchrun train.py\n${fixture('fragmentation.log')}`;
    assert.notEqual(judgeLog(log).cause, 'fragmentation');
  });

  it('takes an error of CUDA without figures as outside the allocator', () => {
    assert.equal(judgeLog('RuntimeError: CUDA error: out of memory').cause, 'outside-pytorch');
    assert.equal(judgeLog("ncclUnhandledCudaError: Call to CUDA function failed. Cuda failure 2 'out of memory'").cause, 'outside-pytorch');
  });

  it('does not take a highest-so-far that levels off for a leak', () => {
    const lines = Array.from({ length: 40 }, (_, step) => {
      const most = 50_000 + 4000 * (1 - 1 / (1 + Math.floor(step / 4)));
      return `[Rank 0] (after ${step + 1} iterations) memory (MB) | allocated: 100.0 | max allocated: ${most.toFixed(1)} | reserved: 60000.0 | max reserved: 60000.0`;
    });
    assert.equal(judgeLog(lines.join('\n')).cause, 'none');
  });

  it('names the figures', () => {
    const evidence = readLog(fixture('fragmentation.log'));
    assert.match(say(causeSentence(judge(evidence), evidence)), /20 GiB are reserved and in no tensor.*6 GiB/);
  });
});

describe('a memory snapshot', () => {
  const block = (size: number, state: string, ...frames: string[]) => ({
    size,
    state,
    frames: frames.map((filename) => ({ filename, line: 1, name: 'forward' })),
  });
  const segment = (blocks: readonly object[], pool: readonly number[] = [0, 0], device = 0) => ({
    device,
    total_size: blocks.reduce((sum, one) => sum + (one as { size: number }).size, 0),
    segment_pool_id: pool,
    blocks,
  });

  it('written by Python: fragmentation, and who holds the memory', () => {
    const evidence = snapshotEvidence(readFileSync(path.join(fixtures, 'fragmented.pickle')));
    assert.equal(judge(evidence).cause, 'fragmentation');
    const { snapshot } = evidence;
    assert.ok(snapshot !== null);
    assert.deepEqual(
      [snapshot.reservedBytes / gib, snapshot.allocatedBytes / gib, snapshot.freeBlocks, snapshot.largestFreeBytes / gib],
      [66.5, 59, 6, 1.25],
    );
    const { weights, optimizer, activations, loss } = snapshot.parts;
    assert.deepEqual([weights, optimizer, activations, loss], [16 * gib, 32 * gib, 9 * gib, 2 * gib]);
    assert.equal(snapshot.holders[0]?.line, '/work/train.py:60 main');
  });

  it('counts private pools as those of CUDA graphs', () => {
    const segments = [segment([block(8 * gib, 'active_allocated', 'a.py')]), segment([block(4 * gib, 'active_allocated', 'a.py')], [0, 3])];
    const evidence = snapshotEvidence(pickled({ segments, device_traces: [[{ action: 'oom', size: gib, device_free: 0, frames: [] }]] }));
    assert.equal(judge(evidence).cause, 'cuda-graphs');
    assert.equal(judge(evidence).account.poolBytes, 4 * gib);
  });

  it('takes back what was freed after the error', () => {
    const trace = [
      { action: 'oom', size: 2 * gib, device_free: 0, frames: [] },
      { action: 'free_completed', size: 30 * gib },
      { action: 'segment_free', size: 30 * gib },
    ];
    const evidence = snapshotEvidence(pickled({ segments: [segment([block(gib, 'active_allocated', 'a.py')])], device_traces: [trace] }));
    const { account } = judge(evidence);
    assert.deepEqual([account.allocatedBytes, account.unallocatedBytes], [31 * gib, 0]);
  });

  it('shows a leak as lows that grow', () => {
    const kept = gib / 64;
    const trace = Array.from({ length: 400 }, (_, at) => [
      { action: 'alloc', size: gib, frames: [] },
      { action: 'free_completed', size: gib, frames: [] },
      ...(at % 4 === 0 ? [{ action: 'alloc', size: kept, frames: [] }] : []),
    ]).flat();
    const segments = [segment([block(100 * kept, 'active_allocated', 'a.py')])];
    assert.equal(judge(snapshotEvidence(pickled({ segments, device_traces: [trace] }))).cause, 'leak');
    const steady = trace.filter(({ size }) => size === gib);
    assert.equal(judge(snapshotEvidence(pickled({ segments, device_traces: [steady] }))).cause, 'none');
  });

  it('looks at the device that ran out', () => {
    const segments = [segment([block(9 * gib, 'active_allocated', 'a.py')]), segment([block(gib, 'active_allocated', 'a.py')], [0, 0], 1)];
    const traces = [[], [{ action: 'oom', size: gib, device_free: 0, frames: [] }]];
    assert.equal(readSnapshot(pickled({ segments, device_traces: traces }), 'a').device, 1);
    assert.equal(readSnapshot(pickled({ segments, device_traces: [] }), 'a').device, 0);
  });

  it('takes no more memory for a long name that all frames share', () => {
    const name = Buffer.alloc(2 ** 16, 'a');
    const size = Buffer.alloc(4);
    size.writeUInt32LE(name.length);
    // the name is memo 0, a frame that has it memo 1, and all blocks have 64 of that
    const frame = [0x7d, ...text('filename'), 0x58, ...size, ...name, 0x94, 0x73, 0x94];
    const frames = [...text('frames'), 0x5d, 0x28, ...Array.from({ length: 64 }, () => [0x68, 1]).flat(), 0x65];
    const block = [0x7d, 0x28, ...text('size'), 0x4b, 1, ...frames, 0x75];
    const blocks = [...text('blocks'), 0x5d, 0x28, ...Array.from({ length: 100 }, () => block).flat(), 0x65];
    const segments = [...text('segments'), 0x5d, 0x7d, 0x28, ...blocks, 0x75, 0x61];
    const opcodes = [0x80, 4, 0x7d, 0x28, ...text('unused'), 0x5d, ...frame, 0x61, ...segments, 0x75, 0x2e];
    const { holders } = readSnapshot(Uint8Array.from(opcodes), 'a');
    assert.equal(holders[0]?.blocks, 100);
    assert.ok(holders[0].line.length < 2000);
  });

  it('is refused where the data is none, or a small file names endless entries', () => {
    assert.throws(() => readSnapshot(pickled({ weights: [] }), 'a'), { code: 'snapshot-syntax' });
    // one list of 60,000 blocks in each of 300 segments that are the same
    const blocks = [0x5d, 0x94, 0x28, ...Array.from({ length: 60_000 }, () => 0x4e), 0x65];
    const first = [0x7d, 0x94, ...text('blocks'), ...blocks, 0x73];
    const segments = [0x5d, ...first, 0x61, 0x28, ...Array.from({ length: 300 }, () => [0x68, 0]).flat(), 0x65];
    const bytes = framed([0x7d, ...text('segments'), ...segments, 0x73]);
    assert.throws(() => readSnapshot(bytes, 'a'), { code: 'snapshot-too-large' });
  });
});
