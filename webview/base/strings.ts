export { english as t } from '../../src/core/sentence';
