import assert from 'node:assert/strict';
import { readGradientNorms } from '../../../../../src/features/elastic/core/gradient-norms';
import { toGradientNorms } from '../../../../../src/features/elastic/core/norm-table';
import { ExpectedError } from '../../../../../src/core/errors';

const table = '# written by a hook\nstep,epoch,layer,grad_norm\n0,0,0,2.0\n1,0,0,4.0\n1,0,1,1e-3\n2,1,1,0\n';

/** Code, and the text that the error points at. */
function refusal(text: string, file = 'norms.csv'): readonly string[] {
  try {
    readGradientNorms(text, file);
  } catch (error) {
    if (!(error instanceof ExpectedError)) throw error;
    return [error.code, text.slice(error.place?.range.start, error.place?.range.end)];
  }
  return ['read'];
}

describe('logs of gradient norms', () => {
  it('read from CSV, steps of an epoch averaged', () => {
    const { normAt } = toGradientNorms(readGradientNorms(table, 'norms.csv'));
    assert.deepEqual([normAt(0, 0), normAt(0, 1), normAt(1, 1)], [3, 0.001, 0]);
  });

  it('read from JSON, as lists or as records', () => {
    for (const norms of [
      '[[3, 0.001], [null, 0]]',
      '[{"epoch":0,"layer":0,"norm":3},{"epoch":0,"layer":1,"norm":0.001},{"epoch":1,"layer":1,"norm":0}]',
    ]) {
      const { normAt } = toGradientNorms(readGradientNorms(`{"norms": ${norms}}`, 'norms.json'));
      assert.deepEqual([normAt(0, 0), normAt(0, 1), normAt(1, 1)], [3, 0.001, 0]);
    }
  });

  it('read from trackers: a tag a row, a column a layer, TensorBoard with a file a layer, steps ascending one an epoch', () => {
    const expected = [3, 0.001, 0];
    const long =
      'run,tag,step,value\nr,grad_norm/layer_0,390,3\nr,loss,390,nan\nr,grad_norm/layer_1,390,0.001\nr,grad_norm/layer_1,780,0\n';
    const wide = 'Step,lr,run - grad_norm/encoder.layer.0,run - grad_norm/encoder.layer.1\n390,1,3,0.001\n780,1,,0\n';
    const rows = '{"epoch":0,"norms":[3,0.001]}\r\n\n{"epoch":1,"layer":1,"grad_norm":0}\n';
    for (const [text, file] of [
      [long, 'scalars.csv'],
      [wide, 'wandb.csv'],
      [rows, 'norms.jsonl'],
    ] as const) {
      const { normAt } = toGradientNorms(readGradientNorms(text, file));
      assert.deepEqual([normAt(0, 0), normAt(0, 1), normAt(1, 1)], expected, file);
    }
    const board = 'Wall time,Step,Value\n1700000000.5,390,3\n1700000900.5,780,2\n';
    const { normAt } = toGradientNorms(readGradientNorms(board, 'run-train-tag-grad_norm_layer_11.csv'));
    assert.deepEqual([normAt(0, 11), normAt(1, 11)], [3, 2]);
    assert.deepEqual(refusal(board, 'grad_norm.csv'), ['csv-column', 'Value']);
    assert.deepEqual(refusal(board.replace(',2\n', ',inf\n'), 'layer_1.csv'), ['csv-number', 'inf']);
    assert.deepEqual(refusal(rows.replace('"layer":1', '"layer":1.5'), 'norms.jsonl'), ['elastic-norm', '1.5']);
  });

  it('point at what is not a norm', () => {
    assert.deepEqual(refusal(table.replace('1e-3', 'nan')), ['csv-number', 'nan']);
    assert.deepEqual(refusal(table.replace('1e-3', '-1')), ['csv-number', '-1']);
    assert.deepEqual(refusal(table.replace('1e-3', 'inf')), ['csv-number', 'inf']);
    assert.deepEqual(refusal(table.replace('1e-3', '')), ['csv-number', '']);
    assert.deepEqual(refusal(table.replace('2,1,1,0', '2,1,1.5,0')), ['csv-number', '1.5']);
    assert.deepEqual(refusal(table.replace('2,1,1,0', '2,-1,1,0')), ['csv-number', '-1']);
    assert.deepEqual(refusal('{"norms": [[1, -2]]}'), ['elastic-norm', '-2']);
    assert.deepEqual(refusal('{"norms": [[1, "2"]]}'), ['elastic-norm', '"2"']);
    assert.deepEqual(refusal('{"norms": [1]}'), ['elastic-norm', '1']);
    assert.deepEqual(refusal('{"norms": [{"epoch": 0, "layer": 0.5, "norm": 1}]}'), ['elastic-norm', '0.5']);
    assert.deepEqual(refusal('{"norms": [{"epoch": 0, "layer": 0}]}'), ['elastic-norm', '{"epoch": 0, "layer": 0}']);
    assert.equal(refusal('{"norms": [[NaN]]}')[0], 'config-json-syntax');
    assert.deepEqual(refusal('{"loss": [1]}'), ['elastic-norm', '{"loss": [1]}']);
  });

  it('name a column that is missing or there twice', () => {
    assert.deepEqual(refusal('epoch,norm\n0,1')[0], 'csv-column');
    assert.deepEqual(refusal('epoch,layer,norm,grad_norm\n0,0,1,1'), ['csv-column', 'grad_norm']);
    assert.equal(refusal('')[0], 'csv-syntax');
  });

  it('place what is missing at the epoch that lacks it, or at the end', () => {
    const { normAt } = toGradientNorms(readGradientNorms(table, 'norms.csv'));
    const placeOf = (epoch: number, layer: number) => {
      try {
        normAt(epoch, layer);
      } catch (error) {
        if (error instanceof ExpectedError) return table.slice(error.place?.range.start).split('\n', 1)[0];
      }
      return null;
    };
    assert.equal(placeOf(1, 0), '1,1,0');
    assert.equal(placeOf(7, 0), '2,1,1,0');
  });
});
