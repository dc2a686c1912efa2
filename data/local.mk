bashcompdir = $(datadir)/bash-completion/completions
dist_bashcomp_DATA = data/bash/tbtui
zshcompdir = $(datadir)/zsh/site-functions
dist_zshcomp_DATA = data/zsh/_tbtui
# Everything that can be set, as it is without a configuration file; made by "make docs".
dist_pkgdata_DATA = data/config data/report.schema.json
