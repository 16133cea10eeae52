import assert from 'node:assert/strict';
import {
  formatMoment,
  bytesPerGiB,
  column,
  durationQuantity,
  formatBytes,
  formatUsage,
  formatCount,
  formatDuration,
  formatNumber,
  formatPercent,
  formatTokens,
  parseDuration,
  plural,
} from '../../../src/core/format';

describe('format', () => {
  it('gives durations three significant digits in the unit that fits', () => {
    assert.equal(formatDuration(1481.2345), '1.48 s');
    assert.equal(formatDuration(0.0123), '12.3 µs');
    assert.equal(formatDuration(0), '0 ms');
    assert.equal(formatDuration(3.3e-14), '0 ms', 'what rounding leaves of a difference');
    assert.equal(formatDuration(45.67), '45.7 ms');
    assert.equal(formatDuration(999.7), '1 s');
    assert.equal(formatDuration(59_970), '60 s');
    assert.equal(formatDuration(66_700), '66.7 s');
    assert.equal(formatDuration(999_700), '16.7 min');
    assert.equal(formatDuration(7_200_000), '2 h');
    assert.equal(formatDuration(86_400_000 * 1200), '1,200 d');
  });

  it('gives points in time as many digits as what starts there needs', () => {
    assert.equal(formatMoment(11_812.43, 74.4), '11.8124 s');
    assert.equal(formatMoment(11_886.83, 74.4), '11.8868 s');
    assert.equal(formatMoment(12.34, 74.4), '12.3 ms');
    assert.deepEqual([formatMoment(0, 5), formatMoment(1500, 0)], ['0 ms', '1.5 s']);
  });

  it('shows memory in GiB', () => {
    assert.equal(formatBytes(16 * bytesPerGiB), '16 GiB');
    assert.equal(formatBytes(9.1 * bytesPerGiB), '9.1 GiB');
    assert.equal(formatBytes(1023.9 * 2 ** 20), '1 GiB');
    assert.equal(formatBytes(1), '1 byte');
    assert.equal(formatBytes(0), '0 bytes');
    assert.equal(formatUsage(9.1 * bytesPerGiB, 16 * bytesPerGiB), '9.1 / 16 GiB');
    assert.equal(formatUsage(0.5 * bytesPerGiB, 80 * bytesPerGiB), '0.5 / 80 GiB');
  });

  it('keeps trailing zeros in the columns of a table, so that they are under each other', () => {
    assert.deepEqual([1.5, 12, 245, 1024, 0, 9.999, 0.5, 1.5e-8].map(column.number), [
      '1.50',
      '12.0',
      '245',
      '1,024',
      '0',
      '10.0',
      '0.500',
      '0.000000015',
    ]);
    assert.equal(column.duration(1500), '1.50 s');
    assert.equal(column.duration(3.3e-14), '0 ms');
    assert.equal(column.bytes(63 * bytesPerGiB), '63.0 GiB');
    assert.equal(column.usage(9 * bytesPerGiB, 16 * bytesPerGiB), '9.00 / 16.0 GiB');
    assert.equal(column.percent(0.052), '5.20 %');
    for (const text of [column.number(NaN), column.duration(Infinity), column.percent(NaN)]) assert.equal(text, '–');
  });

  it('keeps small counts exact and shortens large ones', () => {
    assert.equal(formatCount(50257), '50,257');
    assert.equal(formatCount(174_600_000_000), '175B');
    assert.equal(formatCount(1.5e6), '1.5M');
    assert.equal(formatCount(999_999), '1M');
    assert.equal(formatCount(-1234), '-1,234');
  });

  it('spells percent, tokens and plurals', () => {
    assert.equal(formatPercent(0.098), '9.8 %');
    assert.equal(formatPercent(0), '0 %');
    assert.equal(formatTokens(2048), '2,048 tokens');
    assert.equal(formatTokens(1), '1 token');
    assert.equal(plural(1, 'slice'), '1 slice');
    assert.equal(plural(2, 'entry', 'entries'), '2 entries');
  });

  it('has a dash for what is not a number and never an exponent for small ones', () => {
    for (const text of [formatNumber(NaN), formatDuration(Infinity), formatBytes(NaN), formatCount(-Infinity), formatPercent(NaN)])
      assert.equal(text, '–');
    assert.equal(formatNumber(1.5e-8), '0.000000015');
    assert.equal(formatNumber(-0), '0');
  });

  it('reads durations that people write', () => {
    for (const [text, ms] of [
      ['9.2s', 9200],
      ['870 ms', 870],
      ['870', 870],
      ['1.5 min', 90_000],
      ['1e3ms', 1000],
    ] as const)
      assert.equal(parseDuration(text), ms, text);
    for (const text of ['', '0s', '-3 s', 'steps.log', '1.2.3 s', '5 h']) assert.equal(parseDuration(text), null, text);
  });

  it('parts number and unit', () => {
    assert.deepEqual(durationQuantity(1481), { value: '1.48', unit: 's' });
  });
});
