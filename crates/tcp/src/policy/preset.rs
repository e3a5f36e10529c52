//! The presets by name, for whoever lets a user choose one.

use super::Policies;

/// A preset: the policies of one source.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Preset {
    /// [`Policies::RFC`].
    Rfc,
    /// [`Policies::LINUX_6`].
    Linux6,
    /// [`Policies::LINUX_6_BBR`].
    Linux6Bbr,
    /// [`Policies::BSD_4_4`].
    Bsd44,
    /// [`Policies::SUNOS_4_1`].
    SunOs41,
}

impl Preset {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Rfc, Self::Linux6, Self::Linux6Bbr, Self::Bsd44, Self::SunOs41];

    /// The name in experiment files and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rfc => "rfc",
            Self::Linux6 => "linux-6",
            Self::Linux6Bbr => "linux-6-bbr",
            Self::Bsd44 => "bsd-4.4",
            Self::SunOs41 => "sunos-4.1",
        }
    }

    /// What it consists of.
    #[must_use]
    pub const fn policies(self) -> Policies {
        match self {
            Self::Rfc => Policies::RFC,
            Self::Linux6 => Policies::LINUX_6,
            Self::Linux6Bbr => Policies::LINUX_6_BBR,
            Self::Bsd44 => Policies::BSD_4_4,
            Self::SunOs41 => Policies::SUNOS_4_1,
        }
    }

    /// The preset with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|preset| preset.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_preset_is_found_by_its_own_name() {
        for preset in Preset::ALL {
            assert_eq!(Preset::named(preset.name()), Some(preset));
        }
        assert_eq!(Preset::named("linux"), None);
    }
}
