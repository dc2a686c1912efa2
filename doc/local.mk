dist_man_MANS += doc/tbtui.1
EXTRA_DIST += doc/tour.md doc/gen-tour.sh doc/gen-quality.sh doc/quality.md doc/gen-man.sh doc/tbtui.1.in doc/DAMAGE.md doc/SECURITY.md doc/report.md doc/INTERNALS.md doc/CLUSTER.md README.md CONTRIBUTING.md

# The manual page is made from the program's own tables, and kept, so that a
# change of an option shows in the change of the page; so is the configuration file.
docs: tbtui
	LC_ALL=C.UTF-8 $(srcdir)/doc/gen-man.sh ./tbtui >$(srcdir)/doc/tbtui.1.new
	mv $(srcdir)/doc/tbtui.1.new $(srcdir)/doc/tbtui.1
	XDG_CONFIG_HOME=/nonexistent ./tbtui --print-config | sed 's/^[a-z]/#&/' >$(srcdir)/data/config.new
	mv $(srcdir)/data/config.new $(srcdir)/data/config
.PHONY: docs

# What schemes and policies cost, measured: some minutes.
SHARED = $(TBTUI_SHARED)
quality: tbtui
	$(srcdir)/doc/gen-quality.sh ./tbtui "$(SHARED)" >$(srcdir)/doc/quality.md.new
	mv $(srcdir)/doc/quality.md.new $(srcdir)/doc/quality.md
.PHONY: quality
