import { asConfig, countParameters, models, stateGib, type ModelName } from './models';
import { near, type Fact, type Question } from './question';

interface MemoryQuestion {
  readonly asks: string;
  readonly thread: string;
  readonly model: ModelName;
  readonly gpu: string;
  /** GPUs of one node. */
  readonly gpus: number;
  readonly set?: Readonly<Record<string, number | string | readonly number[]>>;
  readonly facts: readonly Fact[];
}

/** Memory of a run with Adam in bf16 on one node, short sequences unless they are set. */
function memory({ asks, thread, model, gpu, gpus, set = {}, facts }: MemoryQuestion): Question {
  const usual = {
    'cluster.nodes': 1,
    'cluster.gpusPerNode': gpus,
    'layout.tensor': 1,
    'layout.pipeline': 1,
    'training.sequenceLength': 512,
    'training.microBatch': 1,
    'training.globalBatch': gpus,
    'training.zeroStage': 0,
  };
  return { asks, thread, tool: 'memory', input: { ...asConfig(model), gpu, set: { ...usual, ...set } }, facts };
}

const fits = (is: boolean, because: string): Fact => ({ at: 'memory/fits', is, because });

/** Weights in bf16, gradients in fp32, and in fp32 the weights and two moments of Adam. */
function states(model: ModelName, ranks = 1): readonly Fact[] {
  return [
    near('stages/0/weightsGiB', stateGib(model, 2, ranks), '2 bytes a parameter'),
    near('stages/0/gradientsGiB', stateGib(model, 4, ranks), '4 bytes a parameter'),
    near('stages/0/optimizerGiB', stateGib(model, 12, ranks), '12 bytes a parameter'),
  ];
}

const mixtralExperts = 32 * 8 * 3 * 4096 * 14_336;
const gib = 2 ** 30;

interface OutOfMemory {
  readonly asks: string;
  readonly thread: string;
  readonly model: ModelName;
  readonly gpu: string;
  readonly log: string;
  readonly numbers: Readonly<Record<string, number>>;
  readonly more?: readonly Fact[];
}

/** A message of PyTorch: the answer has its numbers in GiB. */
function outOfMemory({ asks, thread, model, gpu, log, numbers, more = [] }: OutOfMemory): Question {
  return {
    asks,
    thread,
    tool: 'oom',
    input: { ...asConfig(model), gpu, set: { 'cluster.nodes': 1, 'cluster.gpusPerNode': 8 }, logText: log },
    facts: [
      ...Object.entries(numbers).map(([key, value]) => ({
        at: `memoryGiB/${key}`,
        from: value - 0.006,
        to: value + 0.006,
        because: 'the number in the message',
      })),
      ...more,
    ],
  };
}

/** What fits, what takes the memory, and why a run ended. */
export const memoryQuestions: readonly Question[] = [
  memory({
    asks: 'How much memory does full fine-tuning of a 7B need on one GPU?',
    thread: 'lm-sys/FastChat#1110',
    model: 'llama2At7B',
    gpu: 'A100-80GB',
    gpus: 1,
    facts: [...states('llama2At7B'), fits(false, '18 bytes x 6.74 billion are 113 GiB, the GPU has 80')],
  }),
  memory({
    asks: 'Fine-tuning LLaMA 7B fails on one A100. Do two do, with tensor parallelism?',
    thread: 'meta-llama/llama#342',
    model: 'llama2At7B',
    gpu: 'A100-80GB',
    gpus: 2,
    set: { 'layout.tensor': 2, 'training.sequenceLength': 128, 'training.globalBatch': 4 },
    facts: [...states('llama2At7B', 2), fits(true, '56.5 GiB, and sequences of 128 tokens need little more')],
  }),
  memory({
    asks: 'LLaMA 2 7B runs out of memory on 8 A100 of 40 GB with TP 1 and PP 1, even with sequences of 64. Why?',
    thread: 'NVIDIA/Megatron-LM#606',
    model: 'llama2At7B',
    gpu: 'A100-40GB',
    gpus: 8,
    set: { 'training.sequenceLength': 64 },
    facts: [...states('llama2At7B'), fits(false, 'each replica has all 113 GiB')],
  }),
  memory({
    asks: 'And with the distributed optimizer over the 8 GPUs?',
    thread: 'NVIDIA/Megatron-LM#606',
    model: 'llama2At7B',
    gpu: 'A100-40GB',
    gpus: 8,
    set: { 'training.sequenceLength': 64, 'training.zeroStage': 1 },
    facts: [
      near('stages/0/optimizerGiB', stateGib('llama2At7B', 12, 8), '12 bytes a parameter over 8 replicas'),
      fits(false, 'weights and gradients are 37.7 GiB, with 9.4 GiB of the optimizer'),
    ],
  }),
  memory({
    asks: 'And with TP 8 instead?',
    thread: 'NVIDIA/Megatron-LM#606',
    model: 'llama2At7B',
    gpu: 'A100-40GB',
    gpus: 8,
    set: { 'training.sequenceLength': 64, 'layout.tensor': 8 },
    facts: [...states('llama2At7B', 8), fits(true, '14.1 GiB a GPU')],
  }),
  memory({
    asks: 'Llama 2 13B does not fine-tune on two A800 of 80 GB with model parallel 2. Is that expected?',
    thread: 'Alpha-VLLM/LLaMA2-Accessory#26',
    model: 'llama2At13B',
    gpu: 'A100-80GB',
    gpus: 2,
    set: { 'layout.tensor': 2 },
    facts: [...states('llama2At13B', 2), fits(false, '18 bytes x 13.0 billion / 2 are 109 GiB')],
  }),
  memory({
    asks: 'Would four of them be enough for the 13B?',
    thread: 'Alpha-VLLM/LLaMA2-Accessory#26',
    model: 'llama2At13B',
    gpu: 'A100-80GB',
    gpus: 4,
    set: { 'layout.tensor': 4 },
    facts: [...states('llama2At13B', 4), fits(true, '54.5 GiB, and a sequence of 512 tokens')],
  }),
  memory({
    asks: 'In pure fp32, what do weights, gradients and Adam of a 7B take?',
    thread: 'Alpha-VLLM/LLaMA2-Accessory#85',
    model: 'llama2At7B',
    gpu: 'A100-80GB',
    gpus: 1,
    set: { 'training.precision': 'fp32' },
    facts: [
      near('stages/0/weightsGiB', stateGib('llama2At7B', 4), '4 bytes a parameter, 28 GB as the thread has it'),
      near('stages/0/gradientsGiB', stateGib('llama2At7B', 4), '4 bytes a parameter'),
      near('stages/0/optimizerGiB', stateGib('llama2At7B', 8), 'two moments of 4 bytes'),
    ],
  }),
  memory({
    asks: 'Llama 3 8B with sequences of 8192 on one node of H100, plain data parallel: out of memory in the first step. Expected?',
    thread: 'NVIDIA/Megatron-LM#818',
    model: 'llama3At8B',
    gpu: 'H100-80GB',
    gpus: 8,
    set: { 'training.sequenceLength': 8192 },
    facts: [...states('llama3At8B'), fits(false, '18 bytes x 8.03 billion are 135 GiB')],
  }),
  memory({
    asks: 'Can I train all weights of Llama 3.1 70B on one node of 8 H100 with TP 8?',
    thread: 'huggingface/blog#2245',
    model: 'llama3At70B',
    gpu: 'H100-80GB',
    gpus: 8,
    set: { 'layout.tensor': 8, 'training.globalBatch': 8 },
    facts: [...states('llama3At70B', 8), fits(false, '18 bytes x 70.6 billion / 8 are 148 GiB')],
  }),
  memory({
    asks: 'With PP 8 on 64 GPUs, what does the first stage of the 70B hold?',
    thread: 'meta-llama/llama-cookbook#332',
    model: 'llama3At70B',
    gpu: 'H100-80GB',
    gpus: 8,
    set: {
      'cluster.nodes': 8,
      'layout.tensor': 8,
      'layout.pipeline': 8,
      schedule: '1F1B',
      'layout.virtualStages': 1,
      'training.globalBatch': 64,
      'layout.stageLayers': [10, 10, 10, 10, 10, 10, 10, 10],
    },
    facts: [
      near(
        'stages/0/weightsGiB',
        (2 * (10 * ((countParameters('llama3At70B') - 8192 * (2 * models.llama3At70B.vocab_size + 1)) / 80) + 128_256 * 8192)) / 8 / gib,
        '10 of 80 layers and one embedding, over 8 tensor ranks',
      ),
      fits(true, '20 GiB of states and short sequences'),
    ],
  }),
  memory({
    asks: 'Mixtral 8x7B on 8 GPUs with expert parallel 8: how much of the weights is on a GPU?',
    thread: 'NVIDIA/Megatron-LM#756',
    model: 'mixtral8x7B',
    gpu: 'H100-80GB',
    gpus: 8,
    set: { 'layout.expert': 8 },
    facts: [
      near(
        'stages/0/weightsGiB',
        (2 * (countParameters('mixtral8x7B') - (mixtralExperts * 7) / 8)) / gib,
        'all of attention and embeddings, one of 8 experts of each layer',
      ),
    ],
  }),
  memory({
    asks: 'TinyLlama on 8 small GPUs: what does ZeRO 1 leave of the optimizer on each?',
    thread: 'jzhang38/TinyLlama, readme',
    model: 'tinyLlama',
    gpu: 'V100-16GB',
    gpus: 8,
    set: { 'training.zeroStage': 1 },
    facts: [
      near('stages/0/weightsGiB', stateGib('tinyLlama', 2), 'whole on each replica'),
      near('stages/0/optimizerGiB', stateGib('tinyLlama', 12, 8), '12 bytes a parameter over 8 replicas'),
      fits(true, '6.1 GiB of weights and gradients, 1.5 GiB of the optimizer'),
    ],
  }),
  {
    asks: 'How long may sequences of Llama 3 8B be on a node of H100 with TP 8?',
    thread: 'meta-llama/llama3, long context',
    tool: 'max',
    input: {
      ...asConfig('llama3At8B'),
      what: 'sequence',
      gpu: 'H100-80GB',
      nodes: 1,
      set: { 'layout.tensor': 8, 'training.globalBatch': 8 },
    },
    facts: [
      { matches: /8,192 positions/, because: 'max_position_embeddings' },
      { at: 'value', from: 32_768, to: 262_144, because: '19 GiB of states leave 55 GiB; 34 x 4096 x 32 / 8 bytes a token and a head' },
    ],
  },
  outOfMemory({
    asks: '3.87 GiB are reserved but not allocated, and 250 MiB cannot be had. What now?',
    thread: 'pytorch/pytorch#152135',
    model: 'llama3At8B',
    gpu: 'H100-80GB',
    log: 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 250.00 MiB. GPU 0 has a total capacity of 79.26 GiB of which 104.75 MiB is free. Process 1007710 has 79.14 GiB memory in use. Of the allocated memory 74.77 GiB is allocated by PyTorch, and 3.87 GiB is reserved by PyTorch but unallocated.',
    numbers: { capacity: 79.26, request: 250 / 1024, free: 104.75 / 1024, allocated: 74.77, unallocated: 3.87 },
    more: [{ matches: /expandable_segments:True/, because: 'more is reserved and unused than was asked for' }],
  }),
  outOfMemory({
    asks: 'Llama 2 70B on a V100 server ends with this. Is it fragmentation?',
    thread: 'meta-llama/llama#918',
    model: 'llama2At70B',
    gpu: 'V100-16GB',
    log: 'torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 448.00 MiB. GPU 1 has a total capacty of 15.77 GiB of which 289.38 MiB is free. Including non-PyTorch memory, this process has 15.49 GiB memory in use. Of the allocated memory 14.66 GiB is allocated by PyTorch, and 483.75 MiB is reserved by PyTorch but unallocated.',
    numbers: { capacity: 15.77, request: 448 / 1024, free: 289.38 / 1024, allocated: 14.66, unallocated: 483.75 / 1024 },
  }),
  outOfMemory({
    asks: 'An older PyTorch prints it like this. What does it mean?',
    thread: 'vllm-project/vllm#636',
    model: 'llama2At70B',
    gpu: 'A100-80GB',
    log: 'torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 160.00 MiB (GPU 0; 79.35 GiB total capacity; 78.58 GiB already allocated; 145.19 MiB free; 78.58 GiB reserved in total by PyTorch)',
    numbers: { capacity: 79.35, request: 160 / 1024, free: 145.19 / 1024, allocated: 78.58, unallocated: 0 },
    more: [{ matches: /^(?!Fragmentation)/, because: 'no more is reserved than allocated' }],
  }),
  outOfMemory({
    asks: 'A GPT-2 large needs 23 GiB by my sum, and a V100 of 32 GB is not enough?',
    thread: 'NVIDIA/Megatron-LM#525',
    model: 'tinyLlama',
    gpu: 'V100-32GB',
    log: 'torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 786.00 MiB (GPU 0; 31.74 GiB total capacity; 28.82 GiB already allocated; 577.12 MiB free; 29.97 GiB reserved in total by PyTorch)',
    numbers: { capacity: 31.74, request: 786 / 1024, free: 577.12 / 1024, allocated: 28.82, unallocated: 29.97 - 28.82 },
  }),
  outOfMemory({
    asks: 'PyTorch holds 0.8 of 4 GiB, yet 20 MiB fail. Who has the rest?',
    thread: 'jhc13/taggui#188',
    model: 'tinyLlama',
    gpu: 'V100-16GB',
    log: 'torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 4.00 GiB of which 2.35 GiB is free. Of the allocated memory 825.15 MiB is allocated by PyTorch, and 24.85 MiB is reserved by PyTorch but unallocated.',
    numbers: { capacity: 4, request: 20 / 1024, free: 2.35, allocated: 825.15 / 1024, unallocated: 24.85 / 1024 },
  }),
  outOfMemory({
    asks: 'Does memory in private pools of CUDA graphs count in this message?',
    thread: 'kaito-project/kaito#976',
    model: 'tinyLlama',
    gpu: 'V100-16GB',
    log: 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 546.00 MiB. GPU 0 has a total capacity of 15.77 GiB of which 514.19 MiB is free. Process 562167 has 15.25 GiB memory in use. Of the allocated memory 13.73 GiB is allocated by PyTorch, with 46.00 MiB allocated in private pools (e.g., CUDA Graphs), and 736.86 MiB is reserved by PyTorch but unallocated.',
    numbers: { capacity: 15.77, request: 546 / 1024, free: 514.19 / 1024, allocated: 13.73, unallocated: 736.86 / 1024 },
  }),
];
