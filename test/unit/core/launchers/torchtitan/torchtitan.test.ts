import { hubModel } from '../../../../../src/core/huggingface/hub-models';
import { flavorConfig } from '../../../../../src/core/launchers/torchtitan/flavors';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { FactName, LauncherFile } from '../../../../../src/core/run/facts';
import { runOfLauncher } from '../../../../../src/core/launchers/launcher-run';
import { readTorchTitan } from '../../../../../src/core/launchers/torchtitan/reader';
import { torchtitan } from '../../../../../src/core/launchers/torchtitan';
import { glanceAt } from '../../../../../src/core/launchers/launcher';
import { traitFiles } from '../../../../fixtures/traits';
import { say } from '../../../../../src/core/sentence';

const fixture = path.join(import.meta.dirname, '../../../../fixtures/launchers');

function read(text: string): LauncherFile {
  return readTorchTitan('run.toml', text);
}

function values(launcher: LauncherFile): Record<string, unknown> {
  return Object.fromEntries(Object.entries(launcher.facts).map(([name, fact]) => [name, fact.value]));
}

/** The text at a fact's place. */
function textOf({ facts, text }: LauncherFile, name: FactName): string {
  const source = facts[name]?.source;
  assert.equal(source?.kind, 'file', name);
  return text.slice(source.place.range.start, source.place.range.end);
}

/** The file without one setting. */
function without({ facts, text }: LauncherFile, name: FactName): LauncherFile {
  const whole = facts[name]?.whole;
  assert.ok(whole !== undefined, name);
  return read(text.slice(0, whole.start) + text.slice(whole.end));
}

const isTorchTitan = (text: string): boolean => torchtitan.isIts(glanceAt(text));

describe('TorchTitan TOML reader', () => {
  it('knows files with the traits of those in public projects, and knows no more of them than that sizes are elsewhere', () => {
    for (const { name, text } of traitFiles('torchtitan')) {
      assert.ok(isTorchTitan(text), name);
      const launcher = read(text);
      const remarks = launcher.remarks.map(({ code }) => code);
      assert.deepEqual(remarks, ['sizes-unknown'], name);
      assert.equal(launcher.modelFiles.length, 1);
    }
  });

  it('reads a run by its names of 2025, each at its place', () => {
    const file = path.join(fixture, 'torchtitan-2025.toml');
    const launcher = readTorchTitan(file, readFileSync(file, 'utf8'));
    assert.deepEqual(values(launcher), {
      modelType: 'llama3',
      flavor: '8B',
      sequenceLength: 8192,
      localBatch: 16,
      globalBatch: 128,
      precision: 'fp8',
      optimizer: 'AdamW',
      recomputeGranularity: 'selective',
      recomputeOption: '2',
      tensor: 2,
      pipeline: 4,
      context: 2,
      expert: 1,
      expertTensor: 2,
      dataReplicate: 2,
      dataShard: 4,
      data: 8,
      schedule: 'Interleaved1F1B',
      microBatch: 2,
      microBatches: 8,
      layersPerStage: 4,
      firstStageLessLayers: 0,
      lastStageLessLayers: 2,
    });
    assert.equal(textOf(launcher, 'tensor'), '2');
    assert.equal(textOf(launcher, 'sequenceLength'), '8_192');
    assert.equal(textOf(launcher, 'schedule'), '"Interleaved1F1B"');
    assert.equal(textOf(launcher, 'recomputeOption'), "'2'");
    assert.equal(launcher.facts.tensor?.name, 'parallelism.tensor_parallel_degree');
    assert.equal(launcher.text.slice(launcher.place.range.start, launcher.place.range.end), '"llama3"');
    assert.deepEqual(
      launcher.modelFiles.map(({ value }) => value),
      ['./assets/hf/Llama-3.1-8B'],
    );
  });

  it('reads a run by its names of 2024', () => {
    const file = path.join(fixture, 'torchtitan-2024.toml');
    const launcher = readTorchTitan(file, readFileSync(file, 'utf8'));
    assert.deepEqual(values(launcher), {
      modelType: 'llama3',
      flavor: '70B',
      optimizer: 'AdamW',
      sequenceLength: 4096,
      localBatch: 8,
      precision: 'fp8',
      recomputeGranularity: 'full',
      compile: false,
      fusedCrossEntropy: false,
      tensor: 8,
      pipeline: 4,
      context: 1,
      dataShard: -1,
      schedule: 'interleaved_1f1b',
      totalStages: 8,
      virtualStages: 2,
      microBatches: 4,
      microBatch: 2,
    });
    assert.equal(launcher.facts.pipeline?.name, 'experimental.pipeline_parallel_degree');
    assert.equal(launcher.facts.totalStages?.source.kind, 'file');
    assert.equal(launcher.facts.virtualStages?.source.kind, 'default');
  });

  it('takes new names before old ones, and one name before none', () => {
    const both =
      '[training]\ntensor_parallel_degree = 2\nbatch_size = 1\nlocal_batch_size = 3\n[parallelism]\ntensor_parallel_degree = 4\n';
    assert.deepEqual([read(both).facts.tensor?.value, read(both).facts.localBatch?.value], [4, 3]);
    assert.equal(read('[training]\nsequence_parallel_degree = 8\n').facts.tensor?.value, 8);
    assert.equal(read('[training]\ndata_parallel_degree = -1\n').facts.dataShard?.value, -1);
    assert.equal(read('[parallelism]\nnum_pp_microbatches = 12\npipeline_parallel_degree = 4\n').facts.microBatches?.value, 12);
  });

  it('takes dotted keys and inline tables as sections', () => {
    const launcher = read('training.seq_len = 2048\nparallelism = { tensor_parallel_degree = 2, "pipeline_parallel_degree" = 0x8 }\n');
    const { sequenceLength, tensor, pipeline } = launcher.facts;
    assert.deepEqual([sequenceLength?.value, tensor?.value, pipeline?.value], [2048, 2, 8]);
    assert.equal(textOf(launcher, 'pipeline'), '0x8');
  });

  describe('batches', () => {
    const batches = (text: string) => {
      const { microBatch, microBatches } = read(text).facts;
      return [microBatch?.value ?? null, microBatches?.value ?? null];
    };

    it('are the local batch without a pipeline, whatever a pipeline would cut', () => {
      assert.deepEqual(batches('[training]\nlocal_batch_size = 6\n[parallelism]\npipeline_parallel_microbatch_size = 2\n'), [6, null]);
    });

    it('are cut as each version cuts them', () => {
      const pipeline = '[parallelism]\npipeline_parallel_degree = 4\n';
      assert.deepEqual(batches(`[training]\nlocal_batch_size = 16\n${pipeline}`), [1, 16]);
      assert.deepEqual(batches(`[training]\nbatch_size = 16\n${pipeline}pipeline_parallel_microbatches = 8\n`), [2, 8]);
      assert.deepEqual(batches(`[training]\nbatch_size = 16\n[experimental]\npipeline_parallel_degree = 4\n`), [4, 4]);
      assert.deepEqual(batches(`[training]\nbatch_size = 16\n${pipeline}`), [null, null]);
    });

    it('are left open when they do not divide', () => {
      const text = '[training]\nlocal_batch_size = 5\n[parallelism]\npipeline_parallel_degree = 2\npipeline_parallel_microbatch_size = 2\n';
      assert.deepEqual(batches(text), [2, null]);
    });
  });

  it('knows the precision by what multiplies matrices', () => {
    const precision = (lines: string) => read(`[training]\nseq_len = 8\n${lines}\n`).facts.precision?.value;
    assert.equal(precision(''), undefined);
    assert.equal(precision('dtype = "bfloat16"'), 'bf16');
    assert.equal(precision('mixed_precision_param = "float32"'), 'fp32');
    assert.equal(precision('dtype = "float32"\nmixed_precision_param = "bfloat16"'), 'bf16');
    assert.equal(precision('dtype = "bfloat16"\n[model]\nconverters = ["quantize.linear.float8"]'), 'fp8');
    assert.equal(precision('[model]\nconverters = []'), undefined);
  });

  it('compiles what compile.components names', () => {
    const compiled = (components: string): unknown[] => {
      const { compile, fusedCrossEntropy } = values(read(`[compile]\nenable = true\ncomponents = ${components}\n`));
      return [compile, fusedCrossEntropy];
    };
    assert.deepEqual(compiled('["model", "loss"]'), [true, true]);
    assert.deepEqual(compiled('["loss"]'), [false, true]);
    assert.deepEqual(compiled('["model"]'), [true, false]);
  });

  it('takes fp8_linear as a name, as it was until 2024-07', () => {
    for (const [written, precision] of [
      ['""', undefined],
      ['"dynamic"', 'fp8'],
      ['false', undefined],
      ['true', 'fp8'],
    ] as const) {
      const { facts, remarks } = read(`[model]\nname = "llama3"\nflavor = "8B"\n[training]\nfp8_linear = ${written}\n`);
      assert.equal(facts.precision?.value, precision, written);
      assert.deepEqual(remarks.filter(({ code }) => code === 'config-wrong-type'), [], written); // prettier-ignore
    }
  });

  it('shards experts as the rest where they are not spread, whatever their own degree', () => {
    const degrees = (expert: number): string =>
      `[parallelism]\ntensor_parallel_degree = 8\nexpert_parallel_degree = ${expert}\nexpert_tensor_parallel_degree = 1\n`;
    assert.equal(values(read(degrees(1)))['expertTensor'], 8);
    assert.equal(values(read(degrees(4)))['expertTensor'], 1);
  });

  it('knows how FP8 is scaled by the converter, or by its recipe', () => {
    const recipe = (lines: string) => read(`[training]\nseq_len = 8\n${lines}\n`).facts.fp8Recipe?.value;
    const float8 = '[model]\nconverters = ["quantize.linear.float8"]\n';
    assert.equal(recipe(float8), undefined);
    assert.equal(recipe(`${float8}[quantize.linear.float8]\nrecipe_name = "rowwise"`), 'rowwise');
    assert.equal(recipe('[model]\nconverters = ["float8"]\n[float8]\nrecipe_name = "tensorwise"'), 'tensorwise');
    assert.equal(recipe('[model]\nconverters = ["quantize.linear.mx"]'), 'mxfp8');
    assert.equal(recipe('[model]\nconverters = ["mx"]'), 'mxfp8');
  });

  it('reads asynchronous tensor parallelism by its names of both years', () => {
    const isAsync = (lines: string) => read(`[training]\nseq_len = 8\n${lines}\n`).facts.asyncTensorParallel?.value;
    assert.equal(isAsync('[parallelism]\nenable_async_tensor_parallel = true'), true);
    assert.equal(isAsync('[experimental]\nenable_async_tensor_parallel = false'), false);
    assert.equal(isAsync(''), undefined);
  });

  it('counts virtual stages of looped schedules as TorchTitan does', () => {
    const virtual = (lines: string) => read(`[parallelism]\npipeline_parallel_degree = 4\n${lines}\n`).facts.virtualStages?.value;
    assert.equal(virtual('pipeline_parallel_schedule = "1F1B"'), undefined);
    assert.equal(virtual('pipeline_parallel_schedule = "ZBVZeroBubble"'), 2);
    assert.equal(virtual('pipeline_parallel_schedule = "Interleaved1F1B"\npipeline_parallel_layers_per_stage = 3'), undefined);
    assert.equal(virtual('module_fqns_per_model_part = [["a"], ["b"], ["c"], ["d"]]'), 1);
    assert.equal(virtual('pipeline_parallel_split_points = ["layers.2", "layers.4"]'), undefined);
  });

  it('reports that sizes are elsewhere, and how to join them', () => {
    const [remark] = read('[model]\nname = "llama3"\nflavor = "70B" # big\n').remarks;
    assert.equal(remark?.code, 'sizes-unknown');
    assert.equal(remark.severity, 'information');
    assert.match(say(remark.message), /"llama3 70B"/);
    assert.match(say(remark.remedy), /terapipe\.json/);
    assert.deepEqual(read('[training]\nseq_len = 8\n').remarks, []);
  });

  it('names the flavour that a misspelt one is close to', () => {
    const remedy = (flavor: string) => say(read(`[model]\nname = "llama3"\nflavor = "${flavor}"\n`).remarks[0]!.remedy);
    assert.match(remedy('70b'), /^did you mean the flavor "70B"\?/);
    assert.doesNotMatch(remedy('huge'), /did you mean/);
  });

  it('marks values that cannot be, and keeps the others', () => {
    const text = [
      '[training]',
      'seq_len = "long"',
      'local_batch_size = -3',
      'global_batch_size = -1',
      '[parallelism]',
      'tensor_parallel_degree = 1e308',
      'pipeline_parallel_degree = 2.5',
      'context_parallel_degree = 99999999999999999999',
      'data_parallel_shard_degree = 0',
      'expert_parallel_degree = [1]',
      'pipeline_parallel_schedule = 1979-05-27',
      '',
    ].join('\n');
    const { facts, remarks } = read(text);
    assert.deepEqual(
      Object.values(facts).filter(({ source }) => source.kind === 'file'),
      [],
    );
    const marked = remarks.map(({ code, place: { range } }) => `${code} ${text.slice(range.start, range.end)}`);
    assert.deepEqual(marked, [
      'config-wrong-type "long"',
      'config-out-of-range -3',
      'config-out-of-range 1e308',
      'config-out-of-range 2.5',
      'config-out-of-range 99999999999999999999',
      'config-wrong-type [1]',
      'config-out-of-range 0',
      'config-wrong-type 1979-05-27',
    ]);
  });

  it("knows TorchTitan's recompute and compiled loss, and what it does where a file leaves it open", () => {
    const facts = (text: string) => {
      const { recomputeGranularity, recomputeOption, compile, fusedCrossEntropy } = read(text).facts;
      return [recomputeGranularity?.value, recomputeOption?.value, compile?.value, fusedCrossEntropy?.value];
    };
    assert.deepEqual(facts('[training]\nseq_len = 8\n'), ['selective', '2', undefined, undefined]);
    assert.deepEqual(facts('[activation_checkpoint]\nmode = "none"\n'), ['none', undefined, undefined, undefined]);
    assert.deepEqual(facts('[activation_checkpoint]\nselective_ac_option = "op"\n'), ['selective', 'op', undefined, undefined]);
    assert.deepEqual(facts('[training]\ncompile = true\n').slice(2), [true, false]);
    assert.deepEqual(facts('[training]\ncompile = true\n[parallelism]\ntensor_parallel_degree = 2\n').slice(2), [true, true]);
    assert.deepEqual(facts('[compile]\nenable = true\n').slice(2), [true, true]);
    assert.deepEqual(facts('[compile]\nenable = true\ncomponents = ["model"]\n').slice(2), [true, false]);
    assert.deepEqual(facts('[compile]\nenable = false\n').slice(2), [false, false]);
  });

  it('is planned with the recompute that it sets', () => {
    const given = (text: string) => {
      const launcher = read(`[parallelism]\n${text}`);
      const size = (value: number) => ({ value, source: { kind: 'override' } as const });
      const sized = { ...launcher, facts: { ...launcher.facts, layers: size(4), hidden: size(64), heads: size(4) } };
      const { recompute, recomputeEvery, compile, fusedCrossEntropy } = runOfLauncher(sized, 'run', null).training;
      return [recompute?.value, recomputeEvery?.value, compile?.value, fusedCrossEntropy?.value];
    };
    const ac = '[activation_checkpoint]\n';
    assert.deepEqual(given(''), ['every', 2, undefined, undefined]);
    assert.deepEqual(given(`${ac}selective_ac_option = 4\n`), ['every', 4, undefined, undefined]);
    assert.deepEqual(given(`${ac}selective_ac_option = "op"\n[compile]\nenable = true\n`), ['op', undefined, true, true]);
    assert.deepEqual(given(`${ac}mode = "full"\n`), ['full', undefined, undefined, undefined]);
    assert.deepEqual(given(`${ac}mode = "none"\nselective_ac_option = "op"\n`), ['none', undefined, undefined, undefined]);
    assert.deepEqual(given(`${ac}mode = "memory_budget"\n`), ['selective', undefined, undefined, undefined]);
  });

  describe('removal of a setting', () => {
    it('takes the line with its comment and newline, for every setting of both fixtures', () => {
      for (const name of ['torchtitan-2025.toml', 'torchtitan-2024.toml']) {
        for (const newline of ['\n', '\r\n']) {
          const launcher = read(readFileSync(path.join(fixture, name), 'utf8').replaceAll('\n', newline));
          const lines = launcher.text.split(newline);
          for (const [fact, { whole }] of Object.entries(launcher.facts)) {
            if (whole === undefined) continue;
            const rest = without(launcher, fact as FactName);
            const removed = launcher.text.slice(whole.start, whole.end);
            assert.equal(rest.text.split(newline).length, lines.length - removed.split(newline).length + 1, fact);
            assert.match(removed, /^\w+ *= [^]*\r?\n$/);
            assert.notEqual(rest.facts[fact as FactName]?.source.kind, 'file', fact);
          }
        }
      }
    });

    it('takes a member of an inline table with one comma', () => {
      const text = 'parallelism = { tensor_parallel_degree = 2, context_parallel_degree = 4, pipeline_parallel_degree = 8 }\n';
      const degrees = (launcher: LauncherFile) => ['tensor', 'context', 'pipeline'].filter((name) => name in launcher.facts);
      assert.deepEqual(degrees(without(read(text), 'tensor')), ['context', 'pipeline']);
      assert.deepEqual(degrees(without(read(text), 'context')), ['tensor', 'pipeline']);
      assert.deepEqual(degrees(without(read(text), 'pipeline')), ['tensor', 'context']);
      assert.deepEqual(degrees(without(read('parallelism = {tensor_parallel_degree = 2}'), 'tensor')), []);
    });

    it('works on the last line without a newline', () => {
      assert.equal(without(read('[training]\nseq_len = 8'), 'sequenceLength').text, '[training]\n');
    });
  });
});

describe('TorchTitan recogniser', () => {
  it('knows old and new files, broken ones too', () => {
    for (const name of ['torchtitan-2025.toml', 'torchtitan-2024.toml'])
      assert.ok(isTorchTitan(readFileSync(path.join(fixture, name), 'utf8')), name);
    assert.ok(isTorchTitan('[parallelism]\r\ntensor_parallel_degree = \r\n'));
    assert.ok(isTorchTitan('[model]\nflavor = "8B"\n[training]\nseq_len = 1\n'));
    assert.ok(isTorchTitan('parallelism.data_parallel_shard_degree = -1'));
  });

  it('does not take other TOML', () => {
    const others = [
      '[build-system]\nrequires = ["setuptools"]\n[project]\nname = "flavor"\n[tool.ruff]\nline-length = 100\n',
      '[package]\nname = "pipeline_parallel_degree"\n[dependencies]\nserde = "1"\n',
      '[model]\nname = "vit"\nflavor = "large"\n[training]\nbatch_size = 8\n',
      '# [parallelism]\n# tensor_parallel_degree = 2\n[server]\nport = 1\n',
      '[deploy]\ntensor_parallel_degree = 2\n',
      '',
    ];
    assert.deepEqual(others.filter(isTorchTitan), []);
  });
});

// torchtitan/experiments/deepseek_v3 and llama4, train_configs, of NousResearch/torchtitan at 2025-08
describe('flavors of experiments', () => {
  it('are models of the hub by their whole name, and small ones of the registry', () => {
    assert.equal(flavorConfig('deepseek_v2', 'deepseek-ai/DeepSeek-V2-Lite'), hubModel('deepseek-ai/DeepSeek-V2-Lite'));
    const { intermediate_size: expert, intermediate_size_mlp: dense } = JSON.parse(flavorConfig('llama4', 'debugmodel_irope') ?? '{}') as Record<string, number>; // prettier-ignore
    assert.deepEqual([expert, dense], [512, 768]);
  });
});
