import { asConfig, type ModelName } from './models';
import type { Fact, Question } from './question';

interface RunQuestion {
  readonly asks: string;
  readonly thread: string;
  readonly model: ModelName;
  readonly input: Readonly<Record<string, unknown>>;
  readonly facts: readonly Fact[];
}

const ask = (tool: string, { model, input, ...question }: RunQuestion): Question => ({
  ...question,
  tool,
  input: { ...asConfig(model), ...input },
});

/** Sequences of 4,096 tokens through eight stages of one GPU each, four layers a stage, in 1F1B of whole stages. */
const eightStages = {
  'cluster.nodes': 1,
  'cluster.gpusPerNode': 8,
  'layout.tensor': 1,
  'layout.pipeline': 8,
  'layout.virtualStages': 1,
  schedule: '1F1B',
  'training.sequenceLength': 4096,
  'training.microBatch': 1,
};

/** Tokens a second and GPU of a run by its GPU hours. */
const published = (tokens: number, gpuHours: number): number => tokens / gpuHours / 3600;

/** A rate of all GPUs, from 0.75 to 1.4 times the published one: that includes restarts, ours does not. */
const rate = (perGpu: number, gpus: number, because: string): Fact => ({
  at: 'tokensPerSecond',
  from: 0.75 * perGpu * gpus,
  to: 1.4 * perGpu * gpus,
  because,
});

/** How fast a run is, and what to change. */
export const runningQuestions: readonly Question[] = [
  ask('plan', {
    asks: 'I have 64 GPUs, TP 8 and PP 4. How many replicas do I get?',
    thread: 'Oneflow-Inc/libai#345',
    model: 'llama3At70B',
    input: { gpu: 'H100-80GB', nodes: 8, set: { 'layout.tensor': 8, 'layout.pipeline': 4, 'training.globalBatch': 64 } },
    facts: [
      { at: 'layout/data', is: 2, because: '64 / (8 x 4)' },
      { at: 'gpus', is: 64, because: '8 nodes of 8' },
    ],
  }),
  ask('plan', {
    asks: 'Eight stages and 32 micro-batches: how large is the bubble of 1F1B?',
    thread: 'ISEEKYAN/verl_megatron_practice#9',
    model: 'llama2At7B',
    input: { gpu: 'H100-80GB', set: { ...eightStages, 'training.globalBatch': 32 } },
    facts: [{ at: 'bubble', from: 7 / 39, to: 1.4 * (7 / 39), because: '(p - 1) / (m + p - 1) = 7 / 39, and the last stage has the head' }],
  }),
  ask('plan', {
    asks: 'And with only 8 micro-batches?',
    thread: 'ISEEKYAN/verl_megatron_practice#9',
    model: 'llama2At7B',
    input: { gpu: 'H100-80GB', set: { ...eightStages, 'training.globalBatch': 8 } },
    facts: [{ at: 'bubble', from: 7 / 15, to: 1.2 * (7 / 15), because: '7 / 15, and the last stage has the head' }],
  }),
  ask('compare', {
    asks: 'Is interleaving worth it with few micro-batches?',
    thread: 'sail-sg/zero-bubble-pipeline-parallelism#21',
    model: 'llama2At7B',
    input: {
      gpu: 'H100-80GB',
      set: { ...eightStages, 'training.globalBatch': 8 },
      other: { set: { ...eightStages, 'training.globalBatch': 8, 'layout.virtualStages': 4, schedule: 'Interleaved1F1B' } },
    },
    facts: [
      { at: 'speedupOfB', from: 1.15, to: 15 / (8 + 7 / 4), because: 'the bubble of 7 units is divided by 4: at most 15 / 9.75' },
      { at: 'globalBatch', is: { a: 8, b: 8 }, because: 'both are set' },
    ],
  }),
  ask('compare', {
    asks: 'Zero bubble or plain 1F1B for eight stages?',
    thread: 'sail-sg/zero-bubble-pipeline-parallelism#21',
    model: 'llama2At7B',
    input: {
      gpu: 'H100-80GB',
      set: { ...eightStages, 'training.globalBatch': 16 },
      other: { set: { ...eightStages, 'training.globalBatch': 16, schedule: 'ZeroBubble' } },
    },
    facts: [{ at: 'speedupOfB', from: 1.02, to: 23 / 16, because: 'at best nothing of (16 + 7) / 16 is left; the thread has 67 for 55' }],
  }),
  ask('compare', {
    asks: 'Does a larger micro-batch change the number of them when the global batch stays?',
    thread: 'ISEEKYAN/verl_megatron_practice#9',
    model: 'llama2At7B',
    input: {
      gpu: 'H100-80GB',
      set: { ...eightStages, 'training.globalBatch': 32 },
      other: { set: { ...eightStages, 'training.globalBatch': 32, 'training.microBatch': 2 } },
    },
    facts: [{ matches: /microBatches is 32 in A, 16 in B/, because: '32 / 1 and 32 / 2' }],
  }),
  ask('compare', {
    asks: 'I halve TP on the same GPUs. What happens to the replicas and the memory?',
    thread: 'NVIDIA/Megatron-LM#1829',
    model: 'llama3At8B',
    input: {
      gpu: 'H100-80GB',
      nodes: 1,
      set: { 'layout.tensor': 8, 'training.globalBatch': 32 },
      other: { set: { 'layout.tensor': 4, 'training.globalBatch': 32 } },
    },
    facts: [
      { matches: /layout\.tensor is 8 in A, 4 in B/, because: 'both are set' },
      { matches: /layout\.data is 1 in A, 2 in B/, because: '8 / 8 and 8 / 4' },
      { matches: /B needs [\d.]+ GiB more memory/, because: 'a GPU has twice the weights' },
    ],
  }),
  ask('compare', {
    asks: 'Is doubling the global batch only a matter of speed?',
    thread: 'Oneflow-Inc/libai#345',
    model: 'llama3At8B',
    input: {
      gpu: 'H100-80GB',
      nodes: 1,
      set: { 'layout.tensor': 2, 'training.globalBatch': 32 },
      other: { set: { 'layout.tensor': 2, 'training.globalBatch': 64 } },
    },
    facts: [
      { at: 'globalBatch', is: { a: 32, b: 64 }, because: 'both are set' },
      { matches: /convergence/i, because: 'steps of 64 sequences are other steps' },
    ],
  }),
  ask('plan', {
    asks: 'How many tokens a second should I expect for pretraining Llama 2 7B on A100?',
    thread: 'meta-llama/llama, model card: 184,320 GPU hours for 2T tokens',
    model: 'llama2At7B',
    input: { gpu: 'A100-80GB', nodes: 32, set: { 'training.sequenceLength': 4096, 'training.globalBatch': 1024 } },
    facts: [rate(published(2e12, 184_320), 256, '2e12 tokens / 184,320 hours / 3600 s a GPU')],
  }),
  ask('plan', {
    asks: 'And for the 70B?',
    thread: 'meta-llama/llama, model card: 1,720,320 GPU hours for 2T tokens',
    model: 'llama2At70B',
    input: {
      gpu: 'A100-80GB',
      nodes: 32,
      set: { 'training.sequenceLength': 4096, 'training.globalBatch': 1024, 'layout.tensor': 8, 'layout.pipeline': 4 },
    },
    facts: [rate(published(2e12, 1_720_320), 256, '2e12 tokens / 1,720,320 hours / 3600 s a GPU')],
  }),
  ask('plan', {
    asks: 'What MFU is realistic for the 405B with TP 8 and PP 16 on 8,192 H100?',
    thread: 'arXiv 2407.21783, table 4: 430 TFLOPs a GPU, 43 %',
    model: 'llama3At405B',
    input: {
      gpu: 'H100-80GB',
      nodes: 1024,
      set: { 'training.sequenceLength': 8192, 'training.globalBatch': 2048, 'layout.tensor': 8, 'layout.pipeline': 16 },
    },
    facts: [
      { at: 'layout/data', is: 64, because: '8192 / (8 x 16), as in the table' },
      { at: 'mfu', from: 0.34, to: 0.52, because: '43 % in the table, within a fifth' },
    ],
  }),
  {
    asks: 'How long does a step of GPT-3 175B take on 64 A100 with selective recompute and sequence parallelism?',
    thread: 'arXiv 2205.05198, table 5: 13.75 s',
    tool: 'plan',
    input: {
      path: 'media/samples/gpt3-175b/config.json',
      gpu: 'A100-80GB',
      nodes: 8,
      set: {
        'training.sequenceLength': 2048,
        'training.globalBatch': 64,
        'training.microBatch': 1,
        'training.attention': 'unfused',
        'training.recompute': 'selective',
        'training.sequenceParallel': true,
        'layout.tensor': 8,
        'layout.pipeline': 8,
        'layout.virtualStages': 3,
        schedule: 'Interleaved1F1B',
      },
    },
    facts: [{ at: 'stepMs', from: 13_750 * 0.8, to: 13_750 * 1.2, because: 'the measured step, within a fifth' }],
  },
  ask('search', {
    asks: 'Which layout is best for Llama 3 8B on one node if TP must stay 4?',
    thread: 'NVIDIA/Megatron-LM#818',
    model: 'llama3At8B',
    input: { gpu: 'H100-80GB', nodes: 1, set: { 'layout.tensor': 4, 'training.globalBatch': 32, schedule: '1F1B' } },
    facts: [
      { at: 'set/layout.tensor', is: 4, because: 'it is fixed' },
      { at: 'fits', is: true, because: '18 bytes x 8.03 billion / 4 are 34 GiB' },
      { matches: /TP4 PP(?:1 DP2|2 DP1)/, because: 'the sizes make 8 GPUs' },
    ],
  }),
  ask('slices', {
    asks: 'I have one long sequence and eight stages. Should I cut it into token slices?',
    thread: 'zhuohan123/terapipe, readme',
    model: 'llama2At7B',
    input: { gpu: 'H100-80GB', set: { ...eightStages, schedule: 'TeraPipe', 'training.globalBatch': 1 } },
    facts: [
      { at: 'microBatches', is: 1, because: 'one sequence' },
      { matches: /over whole sequences/, because: 'whole, one stage of eight works at a time' },
    ],
  }),
  ask('prefill', {
    asks: 'How large is the KV cache of a 32K prompt of Llama 3 8B on 8 GPUs?',
    thread: 'vllm-project/vllm#11797',
    model: 'llama3At8B',
    input: { gpu: 'H100-80GB', nodes: 1, prompt: 32_768, stages: 4 },
    facts: [
      { matches: /keys and values 512 MiB/, because: '2 x 8 x 128 x 2 bytes x 32 layers x 32,768 tokens / 8 GPUs' },
      { at: 'fits', is: true, because: '16 GB of weights over 8 GPUs' },
    ],
  }),
  ask('prefill', {
    asks: 'And of the 70B in pipelines of 2?',
    thread: 'sgl-project/sglang#39279',
    model: 'llama3At70B',
    input: { gpu: 'H100-80GB', nodes: 1, prompt: 131_072, stages: 2 },
    facts: [{ matches: /keys and values 5 GiB/, because: '2 x 8 x 128 x 2 bytes x 80 layers x 131,072 tokens / 8 GPUs' }],
  }),
  ask('days', {
    asks: 'What does pre-training Llama 3 70B on 15T tokens take on 512 H100 nodes, and what does it cost at 2 dollars a GPU hour?',
    thread: 'Meta-Llama-3-70B model card: 15T tokens, 6.4M H100 hours',
    model: 'llama3At70B',
    input: {
      gpu: 'H100-80GB',
      nodes: 512,
      tokens: 15e12,
      price: 2,
      set: {
        'layout.tensor': 8,
        'layout.pipeline': 4,
        'training.sequenceLength': 8192,
        'training.globalBatch': 2048,
        'training.microBatch': 1,
      },
    },
    facts: [
      { at: 'gpus', is: 4096, because: '512 nodes of 8' },
      {
        at: 'lowUsualHigh/gpuHours/1',
        from: 1.8e6,
        to: 6.4e6,
        because: '6 x 70.6B x 15T FLOPs at 989 TFLOP/s are 1.8M hours; 6.4M are published',
      },
      { at: 'lowUsualHigh/days/1', from: 18, to: 65, because: 'those hours over 4,096 GPUs' },
      { at: 'lowUsualHigh/cost/1', from: 3.6e6, to: 12.8e6, because: 'those hours at 2 dollars' },
      { matches: /failures: /, because: 'a run of weeks is interrupted' },
    ],
  }),
  ask('where', {
    asks: 'Train Llama 3 8B on 1T tokens: 64 H100 at 2.5 dollars, or 64 A100 at 1 dollar? It must be done in 40 days.',
    thread: 'data sheets of both: 989 and 312 TFLOP/s of BF16',
    model: 'llama3At8B',
    input: {
      on: ['A100-80GB:64', 'H100-80GB:64'],
      prices: { 'H100-80GB': 2.5, 'A100-80GB': 1 },
      tokens: 1e12,
      days: 40,
      set: { 'training.sequenceLength': 8192, 'training.globalBatch': 128, 'training.microBatch': 1 },
    },
    facts: [
      {
        at: 'machines/0/machine',
        is: 'H100-80GB',
        because: '6 x 8B x 1T FLOPs on 64 A100 at 312 TFLOP/s peak are 28 days, which nobody reaches within 40',
      },
      { at: 'machines/0/days', from: 8.8, to: 40, because: 'the same at 989 TFLOP/s are 8.8 days' },
      { matches: /A100-80GB.*takes too long/, because: '40 days are asked for' },
    ],
  }),
  ask('calibrate', {
    asks: 'My steps take 3 s. How far is the prediction off, and can it learn from that?',
    thread: 'NVIDIA/Megatron-LM#756',
    model: 'llama3At8B',
    input: { gpu: 'H100-80GB', nodes: 1, set: { 'layout.tensor': 4, 'training.globalBatch': 32 }, stepMs: 3000 },
    facts: [
      { at: 'measuredMs', is: 3000, because: 'it was given' },
      { at: 'set/calibration.iterationMs', is: 3000, because: 'the key that keeps it' },
      { matches: /After it: A step takes 3 s/, because: 'the measured step is met' },
    ],
  }),
  {
    asks: 'Set the micro-batch of the GPT-3 sample to 1. What exactly changes in the file?',
    thread: 'NVIDIA/Megatron-LM#1829',
    tool: 'patch',
    input: { path: 'media/samples/gpt3-175b/terapipe.json', set: { 'training.microBatch': 1 } },
    facts: [
      { matches: /\n\+ +"microBatch": 1/, because: 'the new line' },
      { matches: /which is not written/, because: 'nothing is written without a yes' },
      { at: 'isChanged', is: true, because: 'the file has no micro-batch' },
    ],
  },
  ask('values', {
    asks: 'Which pipeline sizes divide 32 layers?',
    thread: 'NVIDIA/Megatron-LM#606',
    model: 'llama2At7B',
    input: { key: 'pp' },
    facts: [{ matches: /\b1, 2, 4, 8, 16, 32\b/, because: 'divisors of 32' }],
  }),
  ask('values', {
    asks: 'What can recompute be set to?',
    thread: 'huggingface/accelerate#667',
    model: 'llama2At7B',
    input: { key: 'training.recompute' },
    facts: [{ matches: /none[\s\S]*selective[\s\S]*full|full[\s\S]*selective/, because: 'the granularities of Megatron-LM, and none' }],
  }),
];
