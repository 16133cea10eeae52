import assert from 'node:assert/strict';
import { before, describe, it } from 'mocha';
import { ExpectedError } from '../../../../../src/core/errors';
import type { LauncherFile, LauncherReader } from '../../../../../src/core/run/facts';
import { say, sentence } from '../../../../../src/core/sentence';
import { forks } from '../../../../../src/core/launchers/megatron/forks';
import { loadConfig, type LoadedConfig } from '../../../../../src/core/config-files/load-config';
import { shellReader } from '../shell/shell-reader';

let reader: LauncherReader;
const sizes = '--num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 --micro-batch-size 1 --global-batch-size 64';
const read = (flags: string, file = 'run.sh', program = 'pretrain_gpt.py'): LauncherFile =>
  reader(file, `torchrun --nproc_per_node 8 --nnodes 1:64 ${program} ${sizes} ${flags}\n`);
const missing = (): Promise<never> => Promise.reject(new ExpectedError('config-unreadable', sentence`missing`, sentence`no file`));
const judged = async (flags: string, file?: string, program?: string): Promise<string[]> =>
  (await loadedWithoutModel(flags, file, program)).findings.map(({ severity, code }) => `${severity} ${code}`);

/** Without a model config next to it. */
async function loadedWithoutModel(flags: string, file?: string, program?: string): Promise<LoadedConfig> {
  const { file: name, text } = read(flags, file, program);
  return loadConfig(name, text, { read: missing, shell: () => Promise.resolve(reader) });
}

before(async () => {
  reader = await shellReader();
});

describe('programs of the Megatron-LM family', () => {
  it('are recognised by flags, by what a script names, and by the repository around it', () => {
    const programName = (flags: string, file?: string): string | undefined => read(flags, file).program?.name;
    assert.equal(programName('--bf16'), 'Megatron-LM or a fork of it');
    assert.equal(programName('--bf16', '/home/me/Megatron-LM/examples/run.sh'), 'Megatron-LM');
    assert.equal(programName('--bf16', 'C:\\code\\MindSpeed-LLM\\run.sh'), 'MindSpeed-LLM');
    assert.equal(programName('--deepspeed --zero-stage 1'), 'Megatron-DeepSpeed');
    assert.equal(programName('--deepspeed --zero-stage 1 --pp-partition-method type:transformer'), "BigScience's Megatron-DeepSpeed");
    assert.equal(programName('--num-layer-list 6,6,6,6'), 'MindSpeed-LLM');
    assert.equal(programName('--enable-zero-bubble'), 'zero-bubble-pipeline-parallelism');
    assert.equal(programName('--pipe-sp-splits 4'), 'Seq1F1B');
    assert.equal(programName('--checkpoint-activations'), 'Megatron-LM before Megatron Core');
    assert.equal(programName('--moe-num-experts=8 --moe-top-k=1'), "MegaBlocks' Megatron-LM");
  });

  // databricks/megablocks at 78eea65f, exp/dmoe/dmoe_46m_8gpu.sh
  it("share MegaBlocks' experts out over the replicas, and its flags are known", async () => {
    const flags = '--moe-num-experts=64 --moe-loss-weight=0.1 --moe-top-k=1 --moe-expert-model-parallelism --DDP-impl local';
    const { facts } = reader('run.sh', `torchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py ${sizes} ${flags}\n`);
    assert.deepEqual([facts.experts?.value, facts.activeExperts?.value, facts.expert?.value], [64, 1, 8]);
    assert.deepEqual(
      (await judged(flags)).filter((found) => found.includes('flag-unknown')),
      [],
    );
  });

  it('have signs of their own: no flag is the sign of two, but what DeepSpeed brings', () => {
    const seen = new Map<string, string[]>();
    for (const { name, signs } of forks) for (const flag of signs.flags) seen.set(flag, [...(seen.get(flag) ?? []), name]);
    const shared = [...seen].filter(([, names]) => names.length > 1).map(([flag]) => flag);
    assert.deepEqual(shared.sort(), [
      'deepspeed',
      'deepspeed-activation-checkpointing',
      'deepspeed-config',
      'universal-checkpoint',
      'zero-stage',
    ]);
  });

  it('take values of their own, and where it is not known which program starts nothing is refused', async () => {
    assert.deepEqual(await judged('--position-embedding-type alibi'), []);
    assert.deepEqual(await judged('--position-embedding-type alibi', 'bigscience/run.sh'), []);
    assert.deepEqual(await judged('--position-embedding-type alibi', 'NVIDIA/Megatron-LM/run.sh'), ['error flag-invalid-value']);
    assert.equal(read('--position-embedding-type rotary').facts.positions?.value, 'rotary');
    assert.equal(read('--position-embedding-type alibi').facts.positions?.value, 'none');
  });

  it('recompute whole layers by only one flag where they are old', async () => {
    assert.deepEqual(await judged('--checkpoint-activations'), []);
    assert.equal((await loadedWithoutModel('--checkpoint-activations')).run?.training.recompute?.value, 'full');
    assert.equal((await loadedWithoutModel('--activations-checkpoint-method uniform')).run?.training.recompute?.value, 'full');
    assert.deepEqual(await judged('--recompute-granularity full'), ['error recompute-granularity']);
  });

  it('divide layers otherwise on DeepSpeed: embeddings count where the method names them', async () => {
    const uneven = '--pipeline-model-parallel-size 5';
    assert.deepEqual(await judged(uneven), ['error pp-layers-not-divisible']);
    assert.deepEqual(await judged(`${uneven} --deepspeed --zero-stage 1`), []);
    const bloom = '--pipeline-model-parallel-size 13 --deepspeed --pp-partition-method type:transformer|embedding';
    const { run, findings } = await loadedWithoutModel(bloom.replace('type:transformer|embedding', "'type:transformer|embedding'"));
    assert.deepEqual(
      findings.filter(({ severity }) => severity === 'error'),
      [],
    );
    assert.deepEqual(run?.layout.stageLayers?.value, [1, ...Array.from({ length: 11 }, () => 2), 1]);
  });

  it('give layers of each stage, layers that are none, first dense layers and schedules (MindSpeed-LLM)', async () => {
    const listed = await loadedWithoutModel('--pipeline-model-parallel-size 5 --num-layer-list 4,5,5,5,5');
    assert.deepEqual(listed.run?.layout.stageLayers?.value, [4, 5, 5, 5, 5]);
    assert.deepEqual(
      listed.findings.filter(({ severity }) => severity !== 'information'),
      [],
    );
    const empty = await loadedWithoutModel(
      '--pipeline-model-parallel-size 4 --noop-layers 22,23 --num-layers-per-virtual-pipeline-stage 3',
    );
    assert.equal(empty.run?.model.layers.value, 22);
    assert.deepEqual(empty.run.layout.stageLayers?.value, [3, 3, 3, 3, 3, 3, 3, 1]);
    const experts = '--num-experts 8 --moe-intermediate-size 512 --n-shared-experts 2 --first-k-dense-replace';
    const { facts } = read(`${experts} 3 --schedules-method dualpipev --pipeline-model-parallel-size 2`);
    assert.deepEqual(
      [facts.expertFfn?.value, facts.sharedExpertFfn?.value, facts.firstDenseLayers?.value, facts.schedule?.value],
      [512, 1024, 3, 'DualPipeV'],
    );
    assert.equal(read(`${experts} -1`).facts.firstDenseLayers?.value, 0);
  });

  it('have recompute settings that mean something without a granularity only on MindSpeed-LLM', async () => {
    const lone = '--recompute-num-layers 2';
    assert.deepEqual(await judged(lone), ['warning recompute-granularity']);
    // which the plan leaves out, as it is written
    assert.deepEqual(await judged(`${lone} --swap-attention`), ['information flag-left-out']);
  });

  it('take no layers to recompute, which another setting of MindSpeed-LLM does or a measurement leaves out', async () => {
    assert.deepEqual(await judged('--recompute-granularity full --recompute-method block --recompute-num-layers 0'), []);
    assert.deepEqual(await judged('--recompute-method block --recompute-num-layers 0 --enable-recompute-layers-per-pp-rank'), [
      'information flag-left-out',
    ]);
  });

  it('divide heads unevenly to tensor ranks where MindSpeed is set to, and such a run is not planned', async () => {
    const uneven =
      '--num-attention-heads 25 --hidden-size 3200 --group-query-attention --num-query-groups 5 --tensor-model-parallel-size 2';
    assert.deepEqual(await judged(uneven), ['error heads-tp']);
    const { run, findings } = await loadedWithoutModel(`${uneven} --unaligned-linear`);
    assert.deepEqual(
      findings.filter(({ severity }) => severity !== 'information'),
      [],
    );
    assert.match(say(run?.unplanned?.message ?? ''), /unequal shares of the heads/);
  });

  it('have a number of experts for each layer (Megatron-DeepSpeed), which is judged by none of them and not planned', async () => {
    const pyramid = '--deepspeed --zero-stage 0 --moe-expert-parallel-size 64 --num-experts';
    assert.deepEqual(await judged(`${pyramid} 32 32 64 64`), []);
    assert.match(say((await loadedWithoutModel(`${pyramid} 32 32 64 64`)).run?.unplanned?.message ?? ''), /experts differ by layer/);
    assert.equal(read(`${pyramid} 64 64`).facts.experts?.value, 64);
    assert.match(
      say((await loadedWithoutModel(`${pyramid} 64 --topk 1 --mlp-type residual`)).run?.unplanned?.message ?? ''),
      /in addition to a dense network/,
    );
    assert.deepEqual(await judged(`${pyramid} few`), ['error flag-invalid-value']);
  });

  it('run the schedules that flags of the zero-bubble fork pick', () => {
    const picked = (flags: string): string | undefined => read(flags).facts.schedule?.value;
    assert.equal(picked('--enable-zero-bubble'), 'ZB-H1');
    assert.equal(picked('--enable-zero-bubble --zero-bubble-v-schedule'), 'ZBVZeroBubble');
    assert.equal(picked('--enable-zero-bubble --zero-bubble-max-pending-backward auto'), 'ZeroBubble');
    const { schedule, maxPendingBackward } = read('--enable-zero-bubble --zero-bubble-max-pending-backward 16').facts;
    assert.deepEqual([schedule?.value, maxPendingBackward?.value], ['ZeroBubble', 16]);
    assert.equal(picked('--zero-bubble-v-schedule --zero-bubble-v-schedule-mem-setup half'), 'V-Half');
    assert.equal(picked('--pipe-sp-splits 4'), 'Seq1F1B');
  });
});

describe('a script of a model that sees', () => {
  it('has the length of the text, not that of the images', () => {
    const images = read('--seq-length 576 --decoder-seq-length 1024 --language-model-type mistral_7b --vision-model-type clip').facts;
    assert.equal(images.sequenceLength?.value, 1024);
  });
});

describe('feed-forward networks of forks', () => {
  it('have a gate where an activation is named that has one, and the width that YaLM names', () => {
    const { ffn, gatedMlp, positions } = read('--activation-type geglu --intermediate-size 2736 --pos-encoding-type rotary').facts;
    assert.deepEqual([ffn?.value, gatedMlp?.value, positions?.value], [2736, true, 'rotary']);
    assert.equal(read('--intermediate-size 27308 --model-parallel-size 8').facts.ffn?.value, 27_312);
    assert.equal(read('--glu-activation swiglu').facts.gatedMlp?.value, true);
    assert.equal(read('--activation-type gelu').facts.gatedMlp, undefined);
  });
});

describe('a script that does not train', () => {
  it('gets no plan and no finding of training, by the program that it starts', async () => {
    const purposes = {
      'tools/checkpoint/convert.py': 'conversion',
      'hf2mcore_qwen.py': 'conversion',
      'tasks/main.py': 'evaluation',
      'evaluation.py': 'evaluation',
      'tools/run_text_generation_server.py': 'serving',
      'tools/preprocess_data.py': 'data',
      'posttrain_gpt.py': 'training',
      'pretrain_gpt.py': 'training',
      'finetune_t0.py': 'training',
      'my_program.py': 'training',
    };
    for (const [program, purpose] of Object.entries(purposes)) {
      const { run, findings, launcher, noRun } = await loadedWithoutModel(
        '--pipeline-model-parallel-size 5 --num-layers -1',
        'run.sh',
        program,
      );
      assert.equal(launcher?.purpose, purpose, program);
      assert.equal(run === null, purpose !== 'training' || noRun?.code === 'model-not-planned', program);
      if (purpose !== 'training') assert.deepEqual(findings, [], program);
    }
  });
});

describe('what only a run can report', () => {
  it('is not an error: a flag that an unset variable decides about', async () => {
    const text = `OPTIONS=""\nif [ -n "$INTERLEAVED" ]; then OPTIONS="--num-layers-per-virtual-pipeline-stage 1"; fi
torchrun pretrain_gpt.py ${sizes} --pipeline-model-parallel-size 1 $OPTIONS\n`;
    const { findings } = await loadConfig('run.sh', text, { read: missing, shell: () => Promise.resolve(reader) });
    assert.deepEqual(
      findings.filter(({ severity }) => severity === 'error'),
      [],
    );
  });

  it('nor is a place to fill in', async () => {
    assert.deepEqual(await judged('--tensor-model-parallel-size your_tensor_size'), []);
  });
});
