import assert from 'node:assert/strict';
import { createResolver, type Plain } from '../../../../../src/core/languages/yaml/references';
import { entryAt, parseYaml } from '../../../../../src/core/languages/yaml/document';

/** What the value under a path resolves to; `unknown` or `cycle` where it does not. */
function resolved(text: string, path: string): Plain {
  const { root } = parseYaml('run.yaml', text);
  const keys = path.split('.');
  const value = entryAt(root, keys)?.value;
  assert.ok(value?.kind === 'scalar');
  const result = createResolver(root)(value, keys);
  return result.kind === 'value' ? result.value : result.kind;
}

const model = `
run: { name: small }
width: 64
model:
  hidden: 4096
  ffn: \${multiply:4, \${.hidden}}
  heads: \${divide:\${.hidden},\${width}}
  half: \${divide_floor:\${.heads}, 3}
  more: \${divide_ceil:\${model.heads}, 3}
  seq: \${training.model.data.seq}
  less: \${subtract:\${add:1, 2}, 5}
  environment: \${oc.env:HEADS, 12}
  name: \${run.name}
  quoted: "\${.hidden}"
  data:
    seq: 2048
    own: \${.seq}
    up: \${..hidden}
    top: \${...width}
    beyond: \${....width}
`;

describe('OmegaConf references', () => {
  it('resolve from the root, with the value, and levels up', () => {
    assert.equal(resolved(model, 'model.data.own'), 2048);
    assert.equal(resolved(model, 'model.data.up'), 4096);
    assert.equal(resolved(model, 'model.data.top'), 64);
    assert.equal(resolved(model, 'model.name'), 'small');
    assert.equal(resolved(model, 'model.quoted'), 4096);
    assert.equal(resolved(model, 'model.data.beyond'), 'unknown');
  });

  it('know where NeMo-Framework-Launcher mounts a file, unless the file has that key itself', () => {
    assert.equal(resolved(model, 'model.seq'), 2048);
    assert.equal(resolved('a: ${training.b}\nb: 1\ntraining: { b: 2 }\n', 'a'), 2);
  });

  it('calculate', () => {
    assert.equal(resolved(model, 'model.ffn'), 16384);
    assert.equal(resolved(model, 'model.heads'), 64);
    assert.equal(resolved(model, 'model.half'), 21);
    assert.equal(resolved(model, 'model.more'), 22);
    assert.equal(resolved(model, 'model.less'), -2);
    assert.equal(resolved(model, 'model.environment'), 12);
    // of MLPerf's submissions
    assert.equal(resolved('a: ${oc.decode:${oc.env:TP,4}}\nb: ${floor_div:${multiply:${oc.decode:${oc.env:N,3}},${a}},5}\n', 'b'), 2);
    assert.equal(resolved('a: "${oc.decode: ${oc.env:TP,4} }"\n', 'a'), 4);
    assert.equal(resolved('a: ${ceil_div:7,2}\n', 'a'), 4);
    assert.equal(resolved('a: ${oc.decode:${oc.env:HOME}}\n', 'a'), 'unknown');
  });

  it('leave unknown what the file does not have', () => {
    for (const written of [
      '${data_dir}',
      '${a',
      '${}',
      '${.}',
      '${model}',
      'x${width}',
      '${width}${width}',
      '${multiply:4}',
      '${multiply:4,x}',
    ])
      assert.equal(resolved(`width: 2\nmodel: {}\na: '${written}'\n`, 'a'), 'unknown', written);
    for (const written of ['${eval:1}', '${constructor:1,2}', '${__proto__}', '${divide:1,0}', '${oc.env:HOME}', '${oc.decode:1}'])
      assert.equal(resolved(`a: '${written}'\n`, 'a'), 'unknown', written);
  });

  it('end where they go in circles', () => {
    assert.equal(resolved('a: ${a}\n', 'a'), 'cycle');
    assert.equal(resolved('a: ${multiply:2,${b}}\nb: ${c}\nc: ${.a}\n', 'b'), 'cycle');
  });

  it('end soon in long chains and wide trees', () => {
    const chain = Array.from({ length: 10_000 }, (_, i) => `k${i}: \${k${i + 1}}`).join('\n');
    assert.equal(resolved(`${chain}\nk10000: 1\n`, 'k0'), 'unknown');
    const tree = Array.from({ length: 45 }, (_, i) => `k${i}: \${add:\${k${i + 1}},\${k${i + 1}}}`).join('\n');
    assert.equal(resolved(`${tree}\nk45: 1\n`, 'k0'), 2 ** 45);
    assert.equal(resolved(`a: '${'${add:'.repeat(500)}'\n`, 'a'), 'unknown');
  });
});
