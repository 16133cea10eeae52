import { asConfig, countParameters, models, type ModelName } from './models';
import type { Question } from './question';
import { llamaFlags, script } from './script';

/** How many parameters a model has: the sum by hand, which equals what its authors publish. */
function counts(name: ModelName, asks: string, thread: string, published: number): Question {
  if (countParameters(name) !== published) throw new Error(`${name}: ${countParameters(name)} by hand, ${published} published`);
  return {
    asks,
    thread,
    tool: 'inspect',
    input: asConfig(name),
    facts: [
      { at: 'parameters', is: published, because: 'the sum by hand, and the parameters of its published checkpoint' },
      {
        matches: new RegExp(`layers ${models[name].num_hidden_layers} \\(config.json:\\d+\\)`),
        because: 'num_hidden_layers, with its line',
      },
    ],
  };
}

/** A tensor size that does not divide the heads. */
function divides(name: ModelName, tensor: number, asks: string, thread: string): Question {
  const { num_attention_heads: heads } = models[name];
  return {
    asks,
    thread,
    tool: 'check',
    input: { ...asConfig(name), gpu: 'A100-80GB', nodes: 1, set: { 'layout.tensor': tensor } },
    facts: [
      { at: 'starts', is: false, because: `${heads} / ${tensor} leaves a rest` },
      { matches: new RegExp(`${heads} attention heads are not divisible by a tensor size of ${tensor}`), because: 'both numbers' },
    ],
  };
}

/** Sizes that a key may have for a model. */
function sizes(name: ModelName, key: string, legal: readonly number[], because: string, asks: string, thread: string): Question {
  return { asks, thread, tool: 'values', input: { ...asConfig(name), key }, facts: [{ at: 'legal', is: legal, because }] };
}

/** What a config sets, and whether a run starts with it. */
export const readingQuestions: readonly Question[] = [
  counts('llama2At7B', 'How many parameters am I training if I fine-tune all of LLaMA 2 7B?', 'lm-sys/FastChat#1110', 6_738_415_616),
  counts('mixtral8x7B', 'Mixtral is called 8x7B. How many weights is that in total?', 'vllm-project/vllm#1991', 46_702_792_704),
  counts('llama3At70B', 'What is the exact size of Llama 3.1 70B?', 'huggingface/blog#2245', 70_553_706_496),
  counts('qwen2At500M', 'Are the tied embeddings of Qwen 2.5 0.5B counted once?', 'QwenLM/Qwen2.5, model card', 494_032_768),
  counts('qwen3At30B', 'How large is Qwen3-30B-A3B before I shard its experts?', 'huggingface/trl#6869', 30_532_122_624),
  counts('llama3At405B', 'How many parameters has the 405B config?', 'meta-llama, model card of Llama 3.1', 405_853_388_800),
  divides('llama1At30B', 8, 'Can LLaMA 30B run with tensor parallel 8 on one node?', 'deepspeedai/DeepSpeed#3634'),
  divides('llama1At30B', 3, 'I have three GPUs, will a tensor size of 3 do for the 33B model?', 'vllm-project/vllm#414'),
  divides('llama2At13B', 3, 'Three 3090s and Llama 2 13B: is TP 3 possible?', 'vllm-project/vllm#596'),
  divides('llama2At7B', 5, 'We have a cluster of five GPUs. Can I set TP to 5 for a 7B?', 'dylanyunlon/Neuron_SP#4'),
  divides('qwen2At7B', 8, 'DeepSeek-R1-Distill-Qwen-7B with tensor parallel 8, does that start?', 'THU-KEG/AdaptThink#1'),
  sizes(
    'qwen2At7B',
    'layout.tensor',
    [1, 2, 4],
    'common divisors of 28 heads and 4 key-value heads',
    'Qwen2 7B has odd head counts. Which tensor sizes work?',
    'vllm-project/vllm#11797',
  ),
  sizes(
    'llama3At405B',
    'tp',
    [1, 2, 4, 8],
    'common divisors of 128 heads and 8 key-value heads',
    'What TP sizes may the 405B take?',
    'NVIDIA/Megatron-LM#818',
  ),
  sizes(
    'mixtral8x7B',
    'ep',
    [1, 2, 4, 8],
    'divisors of 8 experts',
    'Which expert parallel sizes can Mixtral have?',
    'NVIDIA/Megatron-LM#756',
  ),
  {
    asks: 'This is my fine-tuning script of a 7B. Which parallel sizes and batch does it set?',
    thread: 'NVIDIA/Megatron-LM#606',
    tool: 'inspect',
    input: script(
      `--tensor-model-parallel-size 1\n--pipeline-model-parallel-size 1\n--micro-batch-size 1\n--global-batch-size 8\n${llamaFlags}`,
    ),
    facts: [
      { at: 'layout/tensor', is: 1, because: '--tensor-model-parallel-size 1' },
      { at: 'layout/pipeline', is: 1, because: '--pipeline-model-parallel-size 1' },
      { matches: /globalBatch 8 \(train\.sh:6\)/, because: '--global-batch-size 8 is on line 6' },
      { matches: /sequenceLength 4096 \(train\.sh:11\)/, because: '--seq-length 4096 is on line 11' },
    ],
  },
  {
    asks: 'Megatron asserts about my global batch: 100 sequences, micro-batch 4, 16 GPUs without model parallelism. What is wrong?',
    thread: 'mosaicml/examples#41',
    tool: 'check',
    input: script(`--tensor-model-parallel-size 1\n--micro-batch-size 4\n--global-batch-size 100\n${llamaFlags}`),
    facts: [
      { at: 'starts', is: false, because: '100 does not divide by 4 x 16 = 64' },
      { matches: /train\.sh:5: error:[^\n]*100/, because: 'the line of --global-batch-size' },
    ],
  },
  {
    asks: 'Can 46 layers be spread over 16 pipeline stages in Megatron?',
    thread: 'sail-sg/zero-bubble-pipeline-parallelism#9',
    tool: 'check',
    input: script(`--pipeline-model-parallel-size 16\n--micro-batch-size 1\n--global-batch-size 64\n${llamaFlags.replace('32', '46')}`),
    facts: [
      { at: 'starts', is: false, because: '46 / 16 leaves a rest' },
      { matches: /46 layers/, because: '--num-layers 46' },
    ],
  },
  {
    asks: 'Interleaved schedule, 32 layers, PP 4, 3 layers for each virtual stage: why does it not start?',
    thread: 'pytorch/torchtitan#1416',
    tool: 'check',
    input: script(
      `--tensor-model-parallel-size 4\n--pipeline-model-parallel-size 4\n--num-layers-per-virtual-pipeline-stage 3\n--micro-batch-size 1\n--global-batch-size 64\n${llamaFlags}`,
    ),
    facts: [
      { at: 'starts', is: false, because: '32 / 4 = 8 layers of a stage, and 8 / 3 leaves a rest' },
      { matches: /train\.sh:5: error/, because: 'the line of --num-layers-per-virtual-pipeline-stage' },
    ],
  },
  {
    asks: 'I wrote --sequence-parallel but no tensor parallelism. Does it do anything?',
    thread: 'huggingface/accelerate#667',
    tool: 'check',
    input: script(`--sequence-parallel\n--tensor-model-parallel-size 1\n--micro-batch-size 1\n--global-batch-size 64\n${llamaFlags}`),
    facts: [
      {
        matches: /train\.sh:3: [^\n]*Sequence parallelism/,
        because: 'Megatron-LM shares sequences over tensor-parallel ranks, of which there is one',
      },
    ],
  },
  {
    asks: 'I mistyped a flag, and argparse stops the job after the queue. Can you find it before?',
    thread: 'NVIDIA/Megatron-LM#818',
    tool: 'check',
    input: script(`--tensor-model-paralel-size 2\n--micro-batch-size 1\n--global-batch-size 64\n${llamaFlags}`),
    facts: [
      { matches: /train\.sh:3: [^\n]*--tensor-model-paralel-size/, because: 'the flag as it is on line 3' },
      { matches: /--tensor-model-parallel-size/, because: 'the flag that was meant' },
    ],
  },
];
