import { asConfig } from './models';
import type { Question } from './question';
import { llamaFlags, script } from './script';

const thread = 'NVIDIA-NeMo/Megatron-Bridge, skills';
const moe = { 'layout.tensor': 2, 'layout.pipeline': 2, 'layout.expert': 8, 'training.globalBatch': 64, 'training.sequenceLength': 4096 };
const stages = {
  'cluster.gpusPerNode': 8,
  'layout.tensor': 1,
  'layout.pipeline': 8,
  'training.sequenceLength': 4096,
  'training.microBatch': 1,
  'training.globalBatch': 32,
};
const batch = '--micro-batch-size 1\n--global-batch-size 64\n';

/** NVIDIA's questions to agents about parallelism, memory and overlap, in our words. */
export const evaluationQuestions: readonly Question[] = [
  {
    asks: 'PP 2, TP 2, EP 8 with experts that are not cut: do 16 GPUs do?',
    thread,
    tool: 'plan',
    input: { ...asConfig('qwen3At30B'), gpu: 'H100-80GB', nodes: 2, set: moe },
    facts: [
      { at: 'gpus', is: 16, because: 'PP x max(TP x CP, EP x ETP) = 2 x 8, not 2 x 2 x 8' },
      { at: 'layout/data', is: 4, because: 'the dense part has 16 / (2 x 2) replicas' },
      { at: 'layout/expert', is: 8, because: 'it is set' },
    ],
  },
  {
    asks: 'And 8 GPUs?',
    thread,
    tool: 'check',
    input: { ...asConfig('qwen3At30B'), gpu: 'H100-80GB', nodes: 1, set: moe },
    facts: [{ at: 'starts', is: false, because: '8 GPUs are 2 x 2 x 2, and 2 x 2 GPUs of a stage cannot hold 8 groups of experts' }],
  },
  {
    asks: 'Context parallel 4 with sequences of 4,100 tokens: does that start?',
    thread,
    tool: 'check',
    input: script(
      `--context-parallel-size 4\n--tensor-model-parallel-size 2\n${batch}${llamaFlags.replace('--seq-length 4096', '--seq-length 4100')}`,
    ),
    facts: [
      { at: 'starts', is: false, because: 'a length must divide by 2 x CP = 8, and 4100 / 8 leaves a rest' },
      { matches: /train\.sh:\d+: error[^\n]*4,?100/, because: 'the length that is wrong' },
    ],
  },
  {
    asks: 'Do virtual stages save memory?',
    thread,
    tool: 'compare',
    input: {
      ...asConfig('llama2At7B'),
      gpu: 'H100-80GB',
      nodes: 1,
      set: { ...stages, schedule: '1F1B', 'layout.virtualStages': 1 },
      other: { set: { ...stages, schedule: 'Interleaved1F1B', 'layout.virtualStages': 4 } },
    },
    facts: [
      { matches: /B needs [\d.]+ GiB more memory/, because: 'the warm-up of interleaved stages is longer' },
      { at: 'speedupOfB', from: 1.02, to: 39 / 32, because: 'they shorten the bubble of 7 of 39 units' },
    ],
  },
  {
    asks: 'Full recompute, but the job asserts at once. What did I leave out?',
    thread,
    tool: 'check',
    input: script(`--recompute-granularity full\n--tensor-model-parallel-size 2\n${batch}${llamaFlags}`),
    facts: [
      { at: 'starts', is: false, because: 'Megatron-LM asserts that full recompute has a method' },
      { matches: /train\.sh:3: error[^\n]*(?:uniform|block)/, because: 'the methods that there are' },
    ],
  },
  {
    asks: 'Can I overlap the collectives of tensor parallelism without sequence parallelism?',
    thread,
    tool: 'check',
    input: script(`--tp-comm-overlap\n--tensor-model-parallel-size 4\n${batch}${llamaFlags}`),
    facts: [
      { at: 'starts', is: false, because: 'Megatron-LM asserts sequence parallelism for this overlap' },
      { matches: /train\.sh:3: error[^\n]*sequence/i, because: 'what it needs' },
    ],
  },
  {
    asks: 'Can gathers of parameters overlap without the distributed optimizer?',
    thread,
    tool: 'check',
    input: script(`--overlap-param-gather\n--overlap-grad-reduce\n--tensor-model-parallel-size 4\n${batch}${llamaFlags}`),
    facts: [
      { at: 'starts', is: false, because: 'Megatron-LM asserts the distributed optimizer' },
      { matches: /train\.sh:3: error[^\n]*distributed/i, because: 'what it needs' },
    ],
  },
  {
    asks: 'Which schedule is fastest for this pipeline, and what does each need of memory?',
    thread: 'AMD-AGI/Primus, skills',
    tool: 'plan',
    input: { ...asConfig('llama2At7B'), gpu: 'H100-80GB', nodes: 1, set: stages, schedules: true },
    facts: [
      { matches: /ZeroBubble/, because: 'schedules that split the backward are compared' },
      { at: 'layout/pipeline', is: 8, because: 'it is set' },
    ],
  },
  {
    asks: 'Expert parallel 16 for a model of 8 experts?',
    thread,
    tool: 'check',
    input: { ...asConfig('mixtral8x7B'), gpu: 'H100-80GB', nodes: 2, set: { 'layout.expert': 16 } },
    facts: [
      { at: 'starts', is: false, because: '8 / 16 leaves a rest' },
      { matches: /\b8 experts/, because: 'num_local_experts' },
    ],
  },
  {
    asks: 'The 70B on 32 H100 with TP 4, PP 4 and VPP 5 ends at 59 GB with much reserved and unused. First fix?',
    thread,
    tool: 'oom',
    input: {
      ...asConfig('llama3At70B'),
      gpu: 'H100-80GB',
      nodes: 4,
      set: {
        'layout.tensor': 4,
        'layout.pipeline': 4,
        'layout.virtualStages': 5,
        'training.globalBatch': 32,
        'training.sequenceLength': 4096,
      },
      logText:
        'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 79.11 GiB of which 1.50 GiB is free. Of the allocated memory 59.00 GiB is allocated by PyTorch, and 16.90 GiB is reserved by PyTorch but unallocated.',
    },
    facts: [
      { at: 'cause', is: 'fragmentation', because: '16.9 GiB are reserved and unused, 2 were asked for' },
      { matches: /First: [^\n]*expandable_segments:True/, because: 'before the layout or the step time changes' },
    ],
  },
];
