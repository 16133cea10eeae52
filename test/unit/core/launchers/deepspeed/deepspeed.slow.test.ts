import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { ExpectedError } from '../../../../../src/core/errors';
import type { Fact, FactName, Facts } from '../../../../../src/core/run/facts';
import { readEmbeddedDeepSpeed, readDeepSpeed } from '../../../../../src/core/launchers/deepspeed/reader';
import { deepspeed } from '../../../../../src/core/launchers/deepspeed';
import { glanceAt } from '../../../../../src/core/launchers/launcher';
import { traitFiles } from '../../../../fixtures/traits';

const fixtures = path.join(import.meta.dirname, '../../../../fixtures/launchers');

function fixture(name: string): string {
  return readFileSync(path.join(fixtures, name), 'utf8');
}

function factsOf(text: string): ReturnType<typeof readEmbeddedDeepSpeed> {
  return readEmbeddedDeepSpeed(text, 'ds.json', 0);
}

function values(facts: Facts): Record<string, unknown> {
  return Object.fromEntries(Object.entries(facts).map(([name, fact]) => [name, fact.value]));
}

function textOf(text: string, fact: Fact<unknown> | undefined): string {
  assert.equal(fact?.source.kind, 'file');
  return text.slice(fact.source.place.range.start, fact.source.place.range.end);
}

function errorOf(text: string, offset = 0): ExpectedError {
  try {
    readEmbeddedDeepSpeed(text, 'ds.json', offset);
  } catch (error) {
    if (error instanceof ExpectedError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

const isDeepSpeed = (text: string): boolean => deepspeed.isIts(glanceAt(text));

describe('DeepSpeed JSON reader', () => {
  it('knows files with the traits of those in public projects, templates among them', () => {
    const found = traitFiles('deepspeed').map(({ name, text }) => {
      assert.ok(isDeepSpeed(text), name);
      const { validJson, facts } = factsOf(text);
      return [name, validJson, facts.activationCheckpointing?.value ?? false];
    });
    assert.deepEqual(found, [
      ['auto-buckets.json', true, false],
      ['baseline.json', true, false],
      ['template-curriculum.json.txt', false, false],
      ['template-offload.json.txt', false, false],
    ]);
  });

  it('takes placeholders of any case that no value of JSON looks like', () => {
    const { placeholders } = factsOf('{ "train_batch_size": GB_SIZE, "fp16": { "enabled": Quant_ON }, "a": { "b": CL_1st_MIN } }');
    assert.deepEqual(placeholders, ['CL_1st_MIN', 'GB_SIZE', 'Quant_ON']);
    assert.equal(errorOf('{ "train_batch_size": Auto }').code, 'config-json-syntax');
  });

  it('reads a run, each value at its place', () => {
    const text = fixture('deepspeed.json');
    const { facts, remarks, modelFiles, placeholders, place } = readDeepSpeed('ds.json', text);
    assert.deepEqual(values(facts), {
      globalBatch: 64,
      microBatch: 2,
      gradientAccumulation: 4,
      zeroStage: 1,
      offloadOptimizer: 'cpu',
      precision: 'bf16',
      optimizer: 'AdamW',
      activationCheckpointing: true,
      recomputeGranularity: 'full',
      pipeline: 4,
      partitionMethod: 'type:transformer',
    });
    assert.deepEqual([remarks, modelFiles, placeholders], [[], [], []]);
    assert.equal(textOf(text, facts.partitionMethod), '"type:transformer"');
    assert.equal(textOf(text, facts.precision), 'true');
    assert.equal(facts.zeroStage?.name, 'zero_optimization.stage');
    assert.equal(text.slice(place.range.start, place.range.end), '64');
  });

  it('takes groups of parameters of any size, and any number of buffers', () => {
    const read = (size: number, buffers: number) =>
      factsOf(`{"zero_optimization": {"sub_group_size": ${size}, "offload_optimizer": {"device": "cpu", "buffer_count": ${buffers}}}}`);
    for (const [size, buffers] of [[0, 0], [1e14, 4096], [1e9, 5]] as const) assert.deepEqual(read(size, buffers).remarks, []); // prettier-ignore
    assert.equal(read(0, 5).facts.optimizerSubGroup?.value, 1);
    assert.equal(read(1e14, 5).facts.optimizerSubGroup?.value, 1e12);
    assert.equal(read(-1, 5).remarks[0]?.code, 'config-out-of-range');
  });

  it('reads deprecated forms', () => {
    const { facts } = factsOf('{"zero_optimization": true, "bfloat16": {"enabled": true}}');
    assert.deepEqual(values(facts), { zeroStage: 1, precision: 'bf16' });
    const offload = factsOf('{"zero_optimization": {"stage": 2, "cpu_offload": true}}');
    assert.deepEqual(values(offload.facts), { zeroStage: 2, offloadOptimizer: 'cpu' });
  });

  it('takes "auto" and null as unset', () => {
    const text =
      '{"train_batch_size": "auto", "zero_optimization": {"stage": null}, "bf16": {"enabled": "auto"}, "fp16": {"enabled": false}}';
    const written = [{ name: 'fp16.enabled', words: ['false'], isPlanned: true }];
    assert.deepEqual(factsOf(text), { facts: {}, remarks: [], placeholders: [], open: [], validJson: true, written });
  });

  it('marks values that cannot be, and keeps the others', () => {
    const text = `{"train_batch_size": "64", "train_micro_batch_size_per_gpu": -2, "gradient_accumulation_steps": 1e308, "zero_optimization": {"stage": 4},
      "fp16": {"enabled": 1}, "optimizer": {"type": ["Adam"]}, "pipeline": {"stages": 2}}`;
    const { facts, remarks } = factsOf(text);
    assert.deepEqual(values(facts), { pipeline: 2 });
    const marked = remarks.map(({ code, place: { range } }) => `${code} ${text.slice(range.start, range.end)}`);
    assert.deepEqual(marked, [
      'config-wrong-type "64"',
      'config-out-of-range -2',
      'config-out-of-range 1e308',
      'config-out-of-range 4',
      'config-wrong-type 1',
      'config-wrong-type ["Adam"]',
    ]);
  });

  it('knows in which format gradients add up', () => {
    const fact = (written: string) => factsOf(`{"data_types": {"grad_accum_dtype": ${written}}}`).facts.gradAccumulationFp32?.value;
    assert.deepEqual(['"fp32"', '"bf16"', '"auto"', 'null'].map(fact), [true, false, undefined, undefined]);
  });

  it('reports that two precisions exclude each other, and turns one off', () => {
    const text = '{"fp16": {"enabled": true}, "bf16": {"enabled": true}}';
    const [remark] = factsOf(text).remarks;
    assert.equal(remark?.code, 'deepspeed-two-precisions');
    const fixed = remark.fixes.map(({ edits: [edit] }) => {
      assert.ok(edit !== undefined);
      return text.slice(0, edit.place.range.start) + edit.newText + text.slice(edit.place.range.end);
    });
    const after = fixed.map((mended) => [factsOf(mended).facts.precision?.value, factsOf(mended).remarks.length]);
    assert.deepEqual(after, [
      ['bf16', 0],
      ['fp16', 0],
    ]);
  });

  it('reads comments and trailing commas as DeepSpeed does, and names who does not', () => {
    const text = '{\n  // samples\n  "train_batch_size": 8,\n}';
    const { facts, remarks, validJson } = factsOf(text);
    assert.deepEqual([facts.globalBatch?.value, validJson], [8, false]);
    assert.deepEqual(
      remarks.map(({ code, severity, place: { range } }) => [code, severity, text.slice(range.start, range.end)]),
      [['config-json-syntax', 'warning', '// samples']],
    );
  });

  describe('of a template', () => {
    it('lists placeholders, reads the rest, and finds no fault', () => {
      const text = fixture('deepspeed-template.txt');
      const { facts, placeholders, open, remarks, validJson } = factsOf(text);
      assert.deepEqual(values(facts), { precision: 'bf16' });
      assert.deepEqual(placeholders, ['GLOBAL_BATCH', 'LOG_INTERVAL', 'MICRO_BATCH', 'ZERO_STAGE']);
      assert.equal(validJson, false);
      const shown = open.map(({ name, fact, placeholder, written }) => [name, fact ?? null, placeholder, written]);
      assert.deepEqual(shown, [
        ['train_batch_size', 'globalBatch', 'GLOBAL_BATCH', 'GLOBAL_BATCH'],
        ['train_micro_batch_size_per_gpu', 'microBatch', 'MICRO_BATCH', '${MICRO_BATCH:-1}'],
        ['zero_optimization.stage', 'zeroStage', 'ZERO_STAGE', 'ZERO_STAGE'],
        ['steps_per_print', null, 'LOG_INTERVAL', 'LOG_INTERVAL'],
      ]);
      for (const { place, written } of open) assert.equal(text.slice(place.range.start, place.range.end), written);
      assert.deepEqual(
        remarks.map(({ code, severity }) => [code, severity]),
        [['template-placeholders', 'information']],
      );
    });

    it('knows the forms that shells, Jinja and sed scripts fill', () => {
      const names = (written: string) => factsOf(`{"train_batch_size": ${written}}`).placeholders;
      assert.deepEqual(names('$BATCH'), ['BATCH']);
      assert.deepEqual(names('${BATCH}'), ['BATCH']);
      assert.deepEqual(names('"${BATCH}"'), ['BATCH']);
      assert.deepEqual(names('$((MICRO * (DP + 1)))'), ['MICRO * (DP + 1)']);
      assert.deepEqual(names('{{ batch }}'), ['batch']);
      assert.deepEqual(names('<batch>'), ['batch']);
      assert.deepEqual(names('@BATCH@'), ['BATCH']);
      assert.deepEqual(names('[BATCH , 2]'), ['BATCH']);
      assert.deepEqual(names('"a BATCH, BATCH: \\", BATCH"'), []);
    });

    it('is not an excuse for what is merely wrong', () => {
      for (const wrong of ['TRUE', 'True', 'NONE', 'NaN', 'auto', '8 SIZE', 'SIZE 8', '$', '${}'])
        assert.equal(errorOf(`{"train_batch_size": ${wrong}}`).code, 'config-json-syntax', wrong);
      assert.equal(errorOf('{SIZE: 8}').code, 'config-json-syntax');
    });
  });

  describe('of a here-document', () => {
    const head = '#!/bin/bash\ncat <<EOF > ds.json\n';
    const script = `${head}{\n  "train_batch_size" : $GLOBAL_BATCH,\n  "zero_optimization": {\n    "stage": 2\n  },\n  "fp16": {"enabled": "yes"}\n}\nEOF\n`;
    const body = script.slice(head.length, script.indexOf('EOF\n', head.length));

    it('gives places of the script', () => {
      const { facts, open, remarks } = readEmbeddedDeepSpeed(body, 'run.sh', head.length);
      assert.equal(textOf(script, facts.zeroStage), '2');
      assert.equal(facts.zeroStage?.source.kind === 'file' && facts.zeroStage.source.place.file, 'run.sh');
      const cut = (range: { start: number; end: number } | undefined) => script.slice(range?.start, range?.end);
      assert.equal(cut(facts.zeroStage?.whole), '\n    "stage": 2\n  ');
      assert.equal(cut(open[0]?.place.range), '$GLOBAL_BATCH');
      assert.deepEqual(remarks.map(({ place }) => cut(place.range)).sort(), ['"yes"', '$GLOBAL_BATCH']);
    });

    it('gives places of the script for errors too', () => {
      const { place } = errorOf('{"train_batch_size": }', 1000);
      assert.deepEqual(place?.range, { start: 1021, end: 1022 });
    });
  });

  describe('removal of a setting', () => {
    it('leaves JSON without it, for every setting', () => {
      const text = fixture('deepspeed.json');
      for (const layout of [text, JSON.stringify(JSON.parse(text)), text.replaceAll('\n', '\r\n')]) {
        const before = factsOf(layout).facts;
        for (const [name, fact] of Object.entries(before) as [FactName, Fact<unknown>][]) {
          const { start, end } = fact.whole ?? assert.fail(name);
          const rest = layout.slice(0, start) + layout.slice(end);
          assert.doesNotThrow(() => void JSON.parse(rest), `${name}: ${rest}`);
          const { [name]: removed, ...others } = values(before);
          assert.ok(removed !== undefined);
          assert.deepEqual(values(factsOf(rest).facts), others, name);
        }
      }
    });

    it('leaves a template that is still one', () => {
      const text = fixture('deepspeed-template.txt');
      for (const { name, whole } of factsOf(text).open) {
        const rest = factsOf(text.slice(0, whole.start) + text.slice(whole.end));
        assert.equal(rest.open.length, 3);
        assert.ok(rest.open.every((setting) => setting.name !== name));
      }
    });
  });

  describe('under attack', () => {
    it('refuses with a place', () => {
      const place = (text: string) => {
        const error = errorOf(text);
        const { start, end } = error.place?.range ?? assert.fail(error.code);
        return `${error.code} ${text.slice(start, end)}`;
      };
      assert.equal(place('{"fp16": {"__proto__": {"enabled": true}}}'), 'config-forbidden-key "__proto__"');
      assert.equal(place('{"train_batch_size": 1, "train_batch_size": 2}'), 'config-duplicate-key "train_batch_size"');
      assert.equal(place('[]'), 'config-wrong-type []');
      assert.equal(place('{"a": '.repeat(200)), 'config-too-deep {');
      assert.equal(place('{"a": ${X'), 'config-json-syntax $');
      assert.equal(errorOf('').code, 'config-empty');
      assert.equal(errorOf(' '.repeat(6_000_000)).code, 'config-too-large');
    });

    // A reader that grew with the square of the text would not end.
    it('is read or refused however long it is', () => {
      const many = Array.from({ length: 20_000 }, (_, index) => `"k${index}": X_${index}`).join(',');
      const texts = [
        `{${many}}`,
        `{"a": ${'A'.repeat(4_000_000)}a}`,
        `{"a": [${'${'.repeat(500_000)}`,
        `{"a": "${'\\"'.repeat(1_000_000)}`,
      ];
      for (const text of texts) {
        try {
          assert.equal(factsOf(text).open.length, 20_000);
        } catch (error) {
          assert.ok(error instanceof ExpectedError, String(error));
        }
      }
    });

    it('a fixture broken anywhere is read or refused at a place', () => {
      for (const text of [fixture('deepspeed.json'), fixture('deepspeed-template.txt')])
        for (let cut = 1; cut < text.length; cut += 2)
          for (const broken of [text.slice(0, cut), text.slice(0, cut) + '"${:'.charAt(cut % 4) + text.slice(cut + 1)])
            try {
              factsOf(broken);
            } catch (error) {
              assert.ok(error instanceof ExpectedError && error.place !== undefined, String(error));
            }
    });
  });
});

describe('DeepSpeed recogniser', () => {
  it('knows configs, templates and broken files', () => {
    for (const name of ['deepspeed.json', 'deepspeed-template.txt']) assert.ok(isDeepSpeed(fixture(name)), name);
    assert.ok(isDeepSpeed('{"zero_optimization": {'));
    assert.ok(isDeepSpeed('{"train_batch_size": 8, "fp16": {"enabled": true}}'));
    assert.ok(isDeepSpeed('{"train_batch_size": 8, "steps_per_print": 1}'));
  });

  it('does not take other JSON', () => {
    const others = [
      '{"name": "app", "version": "1.0.0", "dependencies": {"zero_optimization": "1.0.0"}}',
      '{"compilerOptions": {"strict": true}, "include": ["src"]}',
      '{"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2}',
      '{"train_batch_size": 32, "learning_rate": 0.1, "optimizer": "adam", "fp16": true}',
      '{"pipe-parallel-size": 2, "num-layers": 12, "zero_optimization": {"stage": 1}}',
      '{"deepspeed": {"zero_optimization": {"stage": 1}}}',
      'zero_optimization',
      '',
    ];
    assert.deepEqual(others.filter(isDeepSpeed), []);
  });
});
