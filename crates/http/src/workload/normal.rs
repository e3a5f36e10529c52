//! The standard normal distribution.

use core::f64::consts::SQRT_2;

/// The share of values below `x`.
pub(super) fn share_below(x: f64) -> f64 {
    0.5 * libm::erfc(-x / SQRT_2)
}

/// The quantile at `share`: algorithm AS 241, PPND16 (Wichura 1988), to about 16 digits. A share of
/// 0 gives minus infinity, 1 gives infinity.
pub(super) fn inverse(share: f64) -> f64 {
    let centred = share - 0.5;
    if centred.abs() <= 0.425 {
        let r = 0.425 * 0.425 - centred * centred;
        return centred * polynomial(r, &CENTRE_ABOVE) / polynomial(r, &CENTRE_BELOW);
    }
    let tail = share.min(1.0 - share);
    if tail <= 0.0 {
        return f64::INFINITY.copysign(centred);
    }
    let r = libm::sqrt(-libm::log(tail));
    let value = if r <= 5.0 {
        polynomial(r - 1.6, &SHOULDER_ABOVE) / polynomial(r - 1.6, &SHOULDER_BELOW)
    } else {
        polynomial(r - 5.0, &TAIL_ABOVE) / polynomial(r - 5.0, &TAIL_BELOW)
    };
    value.copysign(centred)
}

/// Horner's rule; coefficients in ascending order.
fn polynomial(x: f64, coefficients: &[f64; 8]) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, coefficient| sum * x + coefficient)
}

const CENTRE_ABOVE: [f64; 8] = [
    3.387_132_872_796_366_5,
    1.331_416_678_917_843_8e2,
    1.971_590_950_306_551_3e3,
    1.373_169_376_550_946e4,
    4.592_195_393_154_987e4,
    6.726_577_092_700_87e4,
    3.343_057_558_358_813e4,
    2.509_080_928_730_122_7e3,
];
const CENTRE_BELOW: [f64; 8] = [
    1.0,
    4.231_333_070_160_091e1,
    6.871_870_074_920_579e2,
    5.394_196_021_424_751e3,
    2.121_379_430_158_659_7e4,
    3.930_789_580_009_271e4,
    2.872_908_573_572_194_3e4,
    5.226_495_278_852_854e3,
];
const SHOULDER_ABOVE: [f64; 8] = [
    1.423_437_110_749_683_5,
    4.630_337_846_156_546,
    5.769_497_221_460_691,
    3.647_848_324_763_204_5,
    1.270_458_252_452_368_4,
    2.417_807_251_774_506e-1,
    2.272_384_498_926_918_4e-2,
    7.745_450_142_783_414e-4,
];
const SHOULDER_BELOW: [f64; 8] = [
    1.0,
    2.053_191_626_637_759,
    1.676_384_830_183_803_8,
    6.897_673_349_851e-1,
    1.481_039_764_274_800_8e-1,
    1.519_866_656_361_645_7e-2,
    5.475_938_084_995_345e-4,
    1.050_750_071_644_416_9e-9,
];
const TAIL_ABOVE: [f64; 8] = [
    6.657_904_643_501_103,
    5.463_784_911_164_114,
    1.784_826_539_917_291_3,
    2.965_605_718_285_048_7e-1,
    2.653_218_952_657_612_4e-2,
    1.242_660_947_388_078_4e-3,
    2.711_555_568_743_487_6e-5,
    2.010_334_399_292_288_1e-7,
];
const TAIL_BELOW: [f64; 8] = [
    1.0,
    5.998_322_065_558_879e-1,
    1.369_298_809_227_358e-1,
    1.487_536_129_085_061_5e-2,
    7.868_691_311_456_133e-4,
    1.846_318_317_510_054_7e-5,
    1.421_511_758_316_446e-7,
    2.044_263_103_389_939_8e-15,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inverse_undoes_the_distribution_function() {
        for step in -800_i32..=800 {
            let x = f64::from(step) / 100.0;
            // On the right a share near 1 has few digits left: use the symmetry.
            let found = inverse(share_below(-x.abs())).abs();
            assert!((found - x.abs()).abs() < 2e-14 * (1.0 + x.abs()), "{x}: {found}");
            let share = share_below(x);
            let back = share_below(inverse(share));
            assert!((back - share).abs() < 1e-15, "{x}: {share} became {back}");
        }
    }

    #[test]
    fn known_quantiles_come_out() {
        #[rustfmt::skip]
        let table = [
            (0.5,    0.0),
            (0.75,   0.674_489_750_196_081_7),
            (0.975,  1.959_963_984_540_054),
            (0.999,  3.090_232_306_167_813_5),
            (0.001, -3.090_232_306_167_813_5),
        ];
        for (share, expected) in table {
            assert!((inverse(share) - expected).abs() < 1e-14, "{share}: {}", inverse(share));
        }
        assert_eq!([inverse(0.0), inverse(1.0)], [f64::NEG_INFINITY, f64::INFINITY]);
    }
}
